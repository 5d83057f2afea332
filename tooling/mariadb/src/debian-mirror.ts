/** Format for `apt-get indextargets`: one line per package list of this machine. */
export const TARGET_FORMAT = '$(REPO_URI) $(RELEASE) $(COMPONENT)'

/**
 * Returns this machine's Debian mirror, given the lines of `TARGET_FORMAT` and the name of the release, such
 * as `bookworm`. Undefined if there is none.
 */
export function debianMirror(targets: string, release: string): string | undefined {
  const uris = targets
    .split('\n')
    .map((line) => line.trim().split(' '))
    .filter(([, suite, component]) => suite === release && component === 'main')
    .map(([uri]) => uri as string)
  // Other vendors may use Debian's suite names.
  return uris.find((uri) => /\/debian\/?$/.test(uri)) ?? uris[0]
}

/**
 * Returns settings for apt-get that keep its state in a folder and name one source. They hide installed
 * packages, so that every library is fetched. Only the machine's network settings are kept.
 */
export function aptSettings(folder: string, systemSettings: string): string {
  const network = systemSettings
    .split('\n')
    .filter((line) => /^Acquire::(https?|Retries|ForceIPv[46])\b/.test(line))
  return [
    // The machine's hooks might clean its own caches.
    `Dir::Etc::main "/dev/null";`,
    `Dir::Etc::parts "/dev/null";`,
    `Dir::Etc::preferences "/dev/null";`,
    `Dir::Etc::preferencesparts "/dev/null";`,
    `Dir::Etc::sourcelist "${folder}/sources.list";`,
    `Dir::Etc::sourceparts "/dev/null";`,
    `Dir::State "${folder}/state";`,
    `Dir::State::status "${folder}/status";`,
    `Dir::Cache "${folder}/cache";`,
    // An outdated mirror is still signed by Debian.
    `Acquire::Check-Valid-Until "false";`,
    `Acquire::Languages "none";`,
    ...network,
    '',
  ].join('\n')
}
