// The notes of a release are what CHANGELOG.md says under "Unreleased".

const UNRELEASED = "## Unreleased";

/** The text below a heading of the second level, without that heading; undefined: there is no such heading. */
function section(changelog: string, heading: string): string | undefined {
  const lines = changelog.split("\n");
  const first = lines.indexOf(heading);
  if (first < 0) return undefined;
  const after = lines.slice(first + 1);
  const next = after.findIndex((line) => line.startsWith("## "));
  return after
    .slice(0, next < 0 ? after.length : next)
    .join("\n")
    .trim();
}

/** The notes of a version that was released; undefined: the changelog has none. */
export function notesOf(changelog: string, version: string): string | undefined {
  const heading = changelog
    .split("\n")
    .find((line) => line === `## ${version}` || line.startsWith(`## ${version} (`));
  return heading === undefined ? undefined : section(changelog, heading);
}

/**
 * Returns the changelog with what was unreleased under a heading of `version`. `date`: as in 2026-11-29.
 *
 * @throws Error if nothing is unreleased
 */
export function released(changelog: string, version: string, date: string): string {
  if (!section(changelog, UNRELEASED))
    throw new Error(
      `CHANGELOG.md says nothing under "${UNRELEASED}": there is nothing to release.`,
    );
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## ${version} (${date})`);
}
