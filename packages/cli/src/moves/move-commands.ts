import type { MoveReport } from '@looseleaf/store'

/** Command lines by which an operator brings a move to its end, or takes it back. */
export interface MoveCommands {
  /** Goes on with the move, or with its undo; undefined once it is over. */
  readonly forward: string | undefined
  /** Takes the move back; undefined for a move that is being undone. */
  readonly back: string | undefined
  /** True if `back` is refused until the move is over. */
  readonly isBackLater: boolean
}

export const FORWARD = 'looseleaf shard repair'

export function commandsOf(report: MoveReport): MoveCommands {
  const { id, from, to, buckets } = report
  const forward = isMoveOver(report) ? undefined : FORWARD
  switch (report.back) {
    case 'undo':
      return { forward, back: `looseleaf shard undo ${id}`, isBackLater: false }
    case 'move':
      return {
        forward,
        back: `looseleaf shard move --from ${to} --to ${from} --buckets ${buckets}`,
        isBackLater: forward !== undefined,
      }
    default:
      return { forward, back: undefined, isBackLater: false }
  }
}

export function isMoveOver({ forward }: Pick<MoveReport, 'forward'>): boolean {
  return forward === undefined
}
