/** Replaces calls and options of the library by commands and options of the command line. */
export function inCommandWords(message: string): string {
  return message
    .replaceAll('{ scatter: true }', '--scatter')
    .replaceAll(/\b([Cc])all shards\./g, (_, first: string) =>
      first === 'C' ? 'Run shards.' : 'run shards.',
    )
    .replaceAll('shards.repair', 'looseleaf shard repair')
    .replaceAll('shards.moves', 'looseleaf shard status')
}
