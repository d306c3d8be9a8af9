// The token is in the URL's fragment, which browsers send to nobody, and is kept for this tab.

const KEY = "cotenant token";

export function tokenHere(): string | undefined {
  const given = location.hash.slice(1);
  if (given !== "") {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY) ?? undefined;
}
