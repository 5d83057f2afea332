/** What `apt-get indextargets` is asked to say of each of this machine's package lists, a line each. */
export const TARGET_FORMAT = '$(REPO_URI) $(RELEASE) $(COMPONENT)'

/**
 * The mirror of Debian that this machine takes its packages from, given the lines of `TARGET_FORMAT` and the name of its
 * release, such as `bookworm`. Undefined where it has none.
 */
export function debianMirror(targets: string, release: string): string | undefined {
  const uris = targets
    .split('\n')
    .map((line) => line.trim().split(' '))
    .filter(([, suite, component]) => suite === release && component === 'main')
    .map(([uri]) => uri as string)
  // Others may name their suites after Debian's too.
  return uris.find((uri) => /\/debian\/?$/.test(uri)) ?? uris[0]
}

/**
 * Settings for apt-get that keep all of its state in a folder, know nothing of what is installed, so that every library
 * comes along, and one source. Those of the machine that say how to reach the network are passed on.
 */
export function aptSettings(folder: string, systemSettings: string): string {
  const network = systemSettings
    .split('\n')
    .filter((line) => /^Acquire::(https?|Retries|ForceIPv[46])\b/.test(line))
  return [
    // Not the machine's, which may have hooks that clean its own caches.
    `Dir::Etc::main "/dev/null";`,
    `Dir::Etc::parts "/dev/null";`,
    `Dir::Etc::preferences "/dev/null";`,
    `Dir::Etc::preferencesparts "/dev/null";`,
    `Dir::Etc::sourcelist "${folder}/sources.list";`,
    `Dir::Etc::sourceparts "/dev/null";`,
    `Dir::State "${folder}/state";`,
    `Dir::State::status "${folder}/status";`,
    `Dir::Cache "${folder}/cache";`,
    // A mirror that lags behind is still signed by Debian.
    `Acquire::Check-Valid-Until "false";`,
    `Acquire::Languages "none";`,
    ...network,
    '',
  ].join('\n')
}
