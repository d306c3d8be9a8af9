export const snake = (name: string) =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const pascal = (name: string) => name.replace(/^./, (letter) => letter.toUpperCase());
