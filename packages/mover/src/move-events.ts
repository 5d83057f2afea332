import { isLooseleafError } from '@looseleaf/core'
import { shardAt, type MoveWork } from '@looseleaf/protocol/internal'
import type { MoveStep } from './move-record.ts'

/** Names of the shards of a move, as events have them. */
export interface MoveNames {
  readonly from: string
  readonly to: string
}

export function namesOf({ context, move }: MoveWork): MoveNames {
  return { from: shardAt(context, move.from).name, to: shardAt(context, move.to).name }
}

/** Reports that this process begins to work on a move, and how the work ends. */
export async function reported(work: MoveWork, walk: () => Promise<MoveStep>): Promise<void> {
  const { context, move } = work
  const event = { kind: 'move', move: move.id, ...namesOf(work) } as const
  context.events.happened({ ...event, outcome: 'begun' })
  try {
    const step = await walk()
    context.events.happened({ ...event, outcome: step === 'undone' ? 'undone' : 'ended' })
  } catch (error) {
    const outcome = isLooseleafError(error, 'ABORTED') ? 'stopped' : 'failed'
    context.events.happened({ ...event, outcome })
    throw error
  }
}
