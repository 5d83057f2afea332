import type { Shard, Time } from '@looseleaf/core'
import { inBackground, platformTime, systemTime, untilAborted } from '@looseleaf/core/internal'
import { presentShards, type EngineContext } from '@looseleaf/index-engine/internal'
import { editTask, processName } from '@looseleaf/protocol/internal'
import type { CallFailures, CallTally } from './call-tally.ts'
import { NOTES_TASK, notesFromText, notesToText, type FailureNote } from './failure-note.ts'

export interface NoteFailuresOptions {
  /** Milliseconds from the first failure to its note, and between attempts to note while no shard takes the note. */
  readonly firstMs?: number | undefined
  readonly everyMs?: number | undefined
  readonly time?: Time | undefined
}

/** Notes failing calls on a shard, for other processes to read. */
export interface FailureNotes {
  /** Begins to note failures, after a call has failed. Idempotent while noting. */
  begin(): void
  stop(): void
}

/** Milliseconds for a shard to take the note, before the next shard is tried. */
const SHARD_MS = 5_000

/**
 * Notes failures ten seconds after the first one, then once a minute while calls fail, and a last time after a minute without failures. A
 * process without failures writes nothing. Tries failing shards last. A note that no shard takes is retried after ten seconds, because a
 * full disk takes small changes now and then.
 */
export function createFailureNotes(
  context: EngineContext,
  tally: () => CallTally,
  { firstMs = 10_000, everyMs = 60_000, time = inBackground(systemTime) }: NoteFailuresOptions = {},
): FailureNotes {
  const ended = new AbortController()
  let key: string | undefined
  let isUnderWay = false
  let noted = new Map<string, number>()
  let notedCalls = 0

  const placeOf = ({ code, shard }: CallFailures): string => JSON.stringify([code, shard])

  /** Failures and calls since the last note that a shard has taken. */
  function sinceLastNote(): Pick<FailureNote, 'failures' | 'calls'> {
    const failures = tally()
      .failures()
      .map((each) => ({ ...each, count: each.count - (noted.get(placeOf(each)) ?? 0) }))
      .filter(({ count }) => count > 0)
    return { failures, calls: tally().calls - notedCalls }
  }

  async function follow(): Promise<void> {
    let last: Pick<FailureNote, 'failures' | 'calls' | 'periodMs'> = { failures: [], calls: 0, periodMs: 0 }
    let begun = time.now()
    for (let waitMs = firstMs; ;) {
      await time.sleep(waitMs, ended.signal)
      const [now, all, calls] = [time.now(), tally().failures(), tally().calls]
      const fresh = sinceLastNote()
      const isOver = fresh.failures.length === 0
      if (!isOver) last = { ...fresh, periodMs: now - begun }
      key ??= context.random.uuid()
      const isTaken = await note({ key, process: processName, at: new Date(now), isOver, ...last })
      if (isTaken || isOver) {
        noted = new Map(all.map((each) => [placeOf(each), each.count]))
        notedCalls = calls
        begun = now
      }
      if (isOver) return
      waitMs = isTaken ? everyMs : firstMs
    }
  }

  async function note(failureNote: FailureNote): Promise<boolean> {
    const failing = new Set(failureNote.failures.map(({ shard }) => shard))
    const shards = presentShards(context.driver)
    const ordered = shards.toSorted((a, b) => Number(failing.has(a.name)) - Number(failing.has(b.name)))
    for (const shard of ordered) {
      if (ended.signal.aborted) return false
      if (await noteOn(shard, failureNote)) return true
    }
    return false
  }

  async function noteOn({ tasks }: Shard, failureNote: FailureNote): Promise<boolean> {
    const signal = AbortSignal.any([platformTime.abortAfter(SHARD_MS), ended.signal])
    const owner = context.random.uuid()
    try {
      const add = (text: string): string => notesToText(notesFromText(text), failureNote)
      return await untilAborted(editTask(tasks, NOTES_TASK, add, { owner, signal }), signal)
    } catch {
      return false
    }
  }

  function begin(): void {
    if (isUnderWay) return
    // The note tells of the time since this failure, so calls before it do not count.
    notedCalls = tally().calls - 1
    start()
  }

  function start(): void {
    if (ended.signal.aborted) return
    isUnderWay = true
    const work = (): Promise<void> =>
      follow()
        .catch(() => {})
        .finally(() => {
          isUnderWay = false
          // A call may have failed while the last note was written.
          if (sinceLastNote().failures.length > 0) start()
        })
    void context.events.detached(work)
  }

  return {
    begin,
    stop: () => ended.abort(),
  }
}
