import {
  type Inlined,
  countsIn,
  getOrInsert,
  inBackground,
  parseObject,
  rangesInclude,
} from '@looseleaf/core/internal'
import { bucketsOf, type EngineContext, type PlacedCatalog } from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'
import { editTask } from '../task-leases.ts'

/** Writes that waited for buckets of a move while they were sealed, or had not begun at their new shard. */
export type NotedWaits = Inlined<{
  readonly calls: number
  /** Milliseconds that the longest of them waited in all. */
  readonly longestMs: number
}>

/** Milliseconds from the first wait to its note, and between two attempts to note. */
const NOTE_MS = 1_000
/** Attempts at a note after which it is given up. */
const MAX_ATTEMPTS = 10
/** Milliseconds for which a store that closes waits for its last note. */
const CLOSE_MS = 500

/** Name of the task on the target of a move that has the noted waits of all processes. */
export function waitsTask(move: number): string {
  return `move/${move}/waits`
}

/** Parses noted waits. Returns undefined if there are none. */
export function waitsFromText(text: string): NotedWaits | undefined {
  const value = parseObject(text)
  return value && countsIn(value, ['calls', 'longestMs'])
}

interface Note {
  readonly to: number
  waits: NotedWaits
  attempts: number
}

/** The waits of each store that its process has not noted yet, by the number of the move. */
const notesOf = new WeakMap<EngineContext, Map<number, Note>>()

/**
 * Notes on the target of a move that a write waited for a bucket of it: at once in memory, and a second later for all processes to read.
 * `isFirst` tells that the write has not waited before; `waitedMs` is its whole wait so far.
 */
export function noteWait(
  context: EngineContext,
  id: Uint8Array,
  { layout }: PlacedCatalog,
  { waitedMs, isFirst }: { readonly waitedMs: number; readonly isFirst: boolean },
): void {
  const bucket = bucketsOf(context.router)?.ofId(id)
  const move = layout?.moves?.find(({ buckets }) => rangesInclude(buckets, String(bucket)))
  if (move === undefined) return
  const found = notesOf.get(context)
  const notes = found ?? new Map<number, Note>()
  notesOf.set(context, notes)
  const note = getOrInsert(notes, move.id, () => ({ to: move.to, waits: NO_WAITS, attempts: 0 }))
  note.waits = joined(note.waits, { calls: isFirst ? 1 : 0, longestMs: Math.round(waitedMs) })
  // The note serves all calls, so it belongs to the trace of none.
  if (found === undefined) context.events.detached(() => void follow(context, notes))
}

function joined(some: NotedWaits, others: NotedWaits): NotedWaits {
  return {
    calls: some.calls + others.calls,
    longestMs: Math.max(some.longestMs, others.longestMs),
  }
}

/** Saves the notes of a store until all are saved or given up. */
async function follow(context: EngineContext, notes: Map<number, Note>): Promise<void> {
  const closed = new AbortController()
  const ended = Promise.withResolvers<void>()
  const leave = context.closing.join(() => {
    closed.abort()
    return ended.promise
  }, CLOSE_MS)
  const time = inBackground(context.time)
  while (notes.size > 0) {
    await time.sleep(NOTE_MS, closed.signal).catch(() => undefined)
    // A note that fails is back among the notes, for the next second.
    const due = [...notes]
    for (const [move, note] of due) await save(context, notes, move, note)
    if (closed.signal.aborted) break
  }
  notesOf.delete(context)
  leave()
  ended.resolve()
}

/** Saves one note. A save without an answer is made again, so its calls may count twice. */
async function save(
  context: EngineContext,
  notes: Map<number, Note>,
  move: number,
  { to, waits, attempts }: Note,
): Promise<void> {
  notes.delete(move)
  const add = (text: string): string => JSON.stringify(joined(waitsFromText(text) ?? NO_WAITS, waits))
  const owner = context.random.uuid()
  const isSaved = await editTask(shardAt(context, to).tasks, waitsTask(move), add, {
    owner,
    signal: undefined,
  }).catch(() => false)
  if (isSaved || attempts + 1 === MAX_ATTEMPTS) return
  const later = notes.get(move)
  notes.set(move, {
    to,
    waits: joined(waits, later?.waits ?? NO_WAITS),
    attempts: attempts + 1,
  })
}

const NO_WAITS: NotedWaits = { calls: 0, longestMs: 0 }
