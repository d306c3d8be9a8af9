const formats = [0, 1, 2].map(
  (places) =>
    new Intl.NumberFormat("en-US", {
      minimumFractionDigits: places,
      maximumFractionDigits: places,
    }),
);

/** Three significant digits, at most two after the point: 1.03, 12.4, 215, 1,980. */
function digits(value: number): string {
  const size = Math.abs(value);
  const places = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return formats[places]?.format(value) ?? String(value);
}

export const times = (ratio: number): string => `${digits(ratio)}x`;
export const millis = (ms: number): string => `${digits(ms)} ms`;
export const perSecond = (rate: number): string => `${digits(rate)}/s`;
export const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
export const whole = (value: number): string => formats[0]?.format(value) ?? String(value);
