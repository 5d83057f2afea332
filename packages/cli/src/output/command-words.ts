/** Commands of calls whose name differs from that of the command. */
const COMMANDS: Readonly<Record<string, string>> = { stopDraining: 'stop-draining', moves: 'status' }

const SHARD_CALL =
  /\b([Cc]all )?shards\.(list|add|moves?|drain|stopDraining|rebalance|undo|repair|remove)\b(?:\((\d*)\))?/g

/** Replaces calls and options of the library by commands and options of the command line. */
export function inCommandWords(message: string): string {
  return message
    .replaceAll('{ scatter: true }', '--scatter')
    .replaceAll(SHARD_CALL, (_, call: string | undefined, name: string, number: string | undefined) => {
      const run = call && (call.startsWith('C') ? 'Run ' : 'run ')
      return `${run ?? ''}looseleaf shard ${COMMANDS[name] ?? name}${number ? ` ${number}` : ''}`
    })
}
