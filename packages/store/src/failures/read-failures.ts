import type { CallOptions, Shard } from '@looseleaf/core'
import { platformTime, untilAborted } from '@looseleaf/core/internal'
import { presentShards, type EngineContext } from '@looseleaf/index-engine/internal'
import { NOTES_TASK, notesFromText, type FailureNote, type FailureReport } from './failure-note.ts'

export interface ReadFailuresOptions extends CallOptions {
  /** Milliseconds after which a shard that has not answered is left out. Default: 5,000. */
  readonly lateMs?: number | undefined
}

/** Reads the failing calls that processes have noted within the last hour, newest first. Leaves out a shard that does not answer. */
export async function readFailures(
  context: Pick<EngineContext, 'driver'>,
  options: ReadFailuresOptions = {},
): Promise<readonly FailureReport[]> {
  const notes = (
    await Promise.all(presentShards(context.driver).map((shard) => notesOn(shard, options)))
  ).flat()
  const newest = new Map<string, FailureNote>()
  for (const note of notes.toSorted((a, b) => a.at.getTime() - b.at.getTime())) newest.set(note.key, note)
  return [...newest.values()].toReversed().map(({ key: _, ...report }) => report)
}

async function notesOn(
  { tasks }: Shard,
  { signal, lateMs = 5_000 }: ReadFailuresOptions,
): Promise<readonly FailureNote[]> {
  const late = platformTime.abortAfter(lateMs)
  const ends = signal === undefined ? late : AbortSignal.any([signal, late])
  try {
    const state = await untilAborted(tasks.load(NOTES_TASK, { signal: ends }), ends)
    return notesFromText(state?.progress ?? '')
  } catch (error) {
    if (signal?.aborted) throw error
    return []
  }
}
