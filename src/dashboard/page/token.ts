// The token comes in the fragment of the URL, which browsers send to nobody. It is taken out of the address bar at once and
// kept for this tab alone, so that a reload works.

const KEY = "cotenant token";

export function tokenHere(): string | undefined {
  const given = location.hash.slice(1);
  if (given !== "") {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY) ?? undefined;
}
