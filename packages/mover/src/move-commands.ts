import type { Inlined, LayoutMove } from '@looseleaf/core/internal'

/** Command lines by which an operator brings a move to its end, or takes it back. */
export type MoveCommands = Inlined<{
  /** Goes on with the move, or with its undo; undefined once it is over. */
  readonly forward: string | undefined
  /** Takes the move back; undefined for a move that is being undone. */
  readonly back: string | undefined
  /** True if `back` is refused until the move is over. */
  readonly isBackLater: boolean
}>

/** Returns the commands for a move by the methods of `store.shards` that do the same. */
export function commandsOf(
  { id, from, to, buckets }: LayoutMove,
  forward: 'repair' | undefined,
  back: 'undo' | 'move' | undefined,
): MoveCommands {
  const commands = {
    undo: `looseleaf shard undo ${id}`,
    move: `looseleaf shard move --from ${to} --to ${from} --buckets ${buckets}`,
  }
  return {
    forward: forward && 'looseleaf shard repair',
    back: back && commands[back],
    // Another move of the same buckets is refused before this one is over.
    isBackLater: back === 'move' && forward !== undefined,
  }
}
