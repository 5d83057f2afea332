import {
  isLooseleafError,
  LooseleafError,
  type Bag,
  type EntityId,
  type ErrorCode,
  type Fate,
} from '@looseleaf/core'
import type { DataStore, PutResult } from '@looseleaf/store'
import { linesFrom, linesToText, type LineRange } from './line-selection.ts'
import { MAX_LINE_BYTES, parseBag, type Line } from './read-input.ts'

/** A line that was not stored. The message names properties and kinds, never values. */
export interface RefusedLine {
  readonly line: number
  readonly code: ErrorCode
  readonly message: string
}

export interface ImportOptions {
  /** Effect of a refused line: `stop` ends the import, `skip` goes to the next line. */
  readonly onError: 'stop' | 'skip'
  /** Lines to import, in ascending order. Other lines are ignored. */
  readonly lines: readonly LineRange[]
  /** Returns the id for a line that has none, the same at each call. Throws an error of the line. */
  readonly idOf?: ((line: number, bag: Bag) => EntityId | undefined) | undefined
  /** Returns a fresh id for a line that has none. Without it, or if it returns undefined, the store makes one. Throws an error of the line. */
  readonly freshIdOf?: ((bag: Bag) => EntityId | undefined) | undefined
  /** Returns the bag to store. Throws an error of the line. */
  readonly check?: ((bag: Bag) => Bag) | undefined
  /** Ends the import after the batches in flight. */
  readonly signal: AbortSignal
  onRefused(refused: RefusedLine): void
  /** Called after each batch with the number of the last line that was read. */
  onProgress(lines: number): void
}

export interface ImportResult {
  /** Selected lines that are not blank, including refused ones. */
  readonly lines: number
  readonly created: number
  readonly replaced: number
  readonly refused: number
  /** Cause of the end: all lines were read, a line was refused, the signal aborted, or `failure`. */
  readonly ended: 'all' | 'refused' | 'interrupted' | 'failed'
  /** The first line to continue with. Every selected line before it is stored, or was left out with `skip`. */
  readonly nextLine: number
  /**
   * The remaining lines as a text of `linesToText`: an import of exactly these stores no line twice. They include refused
   * lines, except with `skip`. A line with an unknown outcome and without an id appears with the id that it was given.
   * Undefined after `all`.
   */
  readonly remaining: string | undefined
  readonly failure: ImportFailure | undefined
}

/** An error that ended an import and was not caused by the content of a line. */
export interface ImportFailure {
  /** The first line that failed; undefined if the input could not be read. */
  readonly line: number | undefined
  readonly error: unknown
}

/** Errors caused by the content of a line, which `skip` passes over. Any other error ends an import. */
const LINE_ERRORS: readonly ErrorCode[] = [
  'BAD_PROPERTY',
  'BAD_ID',
  'BAD_INDEX_VALUE',
  'BODY_TOO_LARGE',
  'DUPLICATE_KEY',
  'SCHEMA_MISMATCH',
]

/**
 * Two batches in flight keep the lanes full while the next one is read. With twice as many entities per batch, an import was
 * no faster, and its process took some 60 MiB more.
 */
const BATCH = 250
const BATCHES = 2
const BATCH_BYTES = 8 * 1024 * 1024

interface MissingLine {
  readonly line: number
  readonly error: Error
  /** True for a line without an id. A second import of it would make another id. */
  readonly hasFreshId: boolean
}

interface Entry {
  readonly line: number
  readonly bag: Bag
  readonly hasFreshId: boolean
}

/**
 * Puts the bags of lines into a store, in batches of hundreds, with a bounded number in memory. When two lines have the same
 * id, the later one wins. An error that no line has caused ends the import after the batches in flight, because only then is
 * it known which lines are stored.
 */
export async function importLines(
  store: DataStore,
  lines: AsyncIterable<Line>,
  options: ImportOptions,
): Promise<ImportResult> {
  const { onError, signal, onRefused, onProgress } = options
  const inFlight = new Set<Promise<void>>()
  /** Ids of the batch being gathered and of the batches in flight. */
  const ids = new Set<string>()
  let batch: Entry[] = []
  let batchBytes = 0
  let importedLines = 0
  let created = 0
  let replaced = 0
  let refused = 0
  let lastLine = 0
  let selected = options.lines
  const failed: MissingLine[] = []
  /** Refused lines to be imported again after a repair. With `skip` they are left out. */
  const toRepair: MissingLine[] = []
  /** The last stored line whose id was made by the store: a second import of it would store another entity. */
  let lastFreshLine = 0
  let unread: { readonly error: unknown } | undefined

  const refuse = (line: number, error: LooseleafError): void => {
    refused++
    if (onError === 'stop') toRepair.push({ line, error, hasFreshId: false })
    onRefused({ line, code: error.code, message: error.message })
  }

  const settle = (entries: readonly Entry[], fates: readonly Fate<PutResult>[]): void => {
    for (const [i, fate] of fates.entries()) {
      const { line, hasFreshId } = entries[i] as Entry
      if (fate.ok) {
        if (hasFreshId) lastFreshLine = Math.max(lastFreshLine, line)
        if (fate.value.created) created++
        else replaced++
      } else if (isLineError(fate.error)) refuse(line, fate.error)
      else failed.push({ line, error: fate.error, hasFreshId })
    }
  }

  const send = (): void => {
    const entries = batch
    batch = []
    batchBytes = 0
    if (entries.length === 0) return
    const work = store
      // Without the signal: a batch in flight must end, or the lines to continue with are unknown.
      .putMany(
        entries.map(({ bag }) => bag),
        { fates: true },
      )
      .then((fates) => settle(entries, fates))
      .finally(() => {
        inFlight.delete(work)
        for (const { bag } of entries) if (typeof bag['id'] === 'string') ids.delete(bag['id'].toLowerCase())
        onProgress(lastLine)
      })
    inFlight.add(work)
  }

  const importLine = async ({ number, bytes }: Line): Promise<void> => {
    lastLine = number
    if (selected[0] !== undefined && selected[0].to < number) selected = linesFrom(selected, number)
    const [range] = selected
    if (range === undefined || number < range.from || (bytes !== undefined && isBlank(bytes))) return
    importedLines++
    const entry = entryOf(number, bytes, range.id, { ...options, refuse })
    if (entry === undefined) return
    const { bag } = entry
    const id = typeof bag['id'] === 'string' ? bag['id'].toLowerCase() : undefined
    if (id !== undefined && ids.has(id)) {
      // The later line must win, so the earlier line of this id must end first.
      send()
      await Promise.all(inFlight)
    }
    if (id !== undefined) ids.add(id)
    batch.push(entry)
    batchBytes += bytes?.length ?? 0
    if (batch.length >= BATCH || batchBytes >= BATCH_BYTES) send()
    if (inFlight.size >= BATCHES) await Promise.race(inFlight)
  }

  const shouldContinue = (): boolean =>
    selected.length > 0 && failed.length === 0 && !signal.aborted && (refused === 0 || onError === 'skip')

  let isAtEnd = true
  try {
    for await (const line of lines) {
      await importLine(line)
      if (shouldContinue()) continue
      isAtEnd = false
      break
    }
  } catch (error) {
    // The signal destroys the stream, which rejects a pending read with an error of its own.
    if (!signal.aborted) unread = { error }
    isAtEnd = false
  }
  if (failed.length === 0 && !signal.aborted) send()
  const sentUpTo = batch[0]?.line ?? lastLine + 1
  await Promise.all(inFlight)
  const [first] = inOrder(failed)
  const failure: ImportFailure | undefined = first ?? (unread && { line: undefined, error: unread.error })
  // A line that was refused behind the lines that were sent is among the rest.
  const missing = inOrder([...failed, ...toRepair.filter(({ line }) => line < sentUpTo)])
  const nextLine = missing[0]?.line ?? sentUpTo
  // A signal that comes while the last batches are stored has interrupted nothing.
  const isInterrupted = signal.aborted && !(isAtEnd && batch.length === 0)
  const isRefused = toRepair.length > 0
  const ended = failure ? 'failed' : isInterrupted ? 'interrupted' : isRefused ? 'refused' : 'all'
  // A second import of a line with an id is harmless. Without an id it would store a second entity, so then `remaining` lists the
  // missing lines one by one.
  const listsMissingLines = lastFreshLine > nextLine || missing.some((line) => unknownId(line) !== undefined)
  const rest = linesFrom(options.lines, listsMissingLines ? sentUpTo : nextLine)
  const listed = listsMissingLines ? missing.map((line) => rangeOf(line, options.lines)) : []
  const remaining = ended === 'all' ? undefined : linesToText([...listed, ...rest])
  return { lines: importedLines, created, replaced, refused, ended, nextLine, remaining, failure }
}

function inOrder(lines: readonly MissingLine[]): readonly MissingLine[] {
  return lines.toSorted((a, b) => a.line - b.line)
}

/** Returns the range of one line, with the id that it was selected with or that the store made for it. */
function rangeOf(missing: MissingLine, selected: readonly LineRange[]): LineRange {
  const { line } = missing
  const id = unknownId(missing) ?? selected.find(({ from, to }) => from <= line && line <= to)?.id
  return { from: line, to: line, ...(id !== undefined && { id }) }
}

/** Returns the id that the store made for a line if that entity may be stored. */
function unknownId({ error, hasFreshId }: MissingLine): EntityId | undefined {
  return hasFreshId && isLooseleafError(error) && error.unknownOutcome ? error.entity : undefined
}

interface EntryOptions extends Pick<ImportOptions, 'check' | 'idOf' | 'freshIdOf'> {
  refuse(line: number, error: LooseleafError): void
}

/** Returns the entry of a line, with the id by which the line was selected, if any; undefined for a refused line. */
function entryOf(
  line: number,
  bytes: Buffer | undefined,
  selectedId: EntityId | undefined,
  { refuse, check = (bag) => bag, idOf, freshIdOf }: EntryOptions,
): Entry | undefined {
  try {
    if (bytes === undefined) {
      throw new LooseleafError('BODY_TOO_LARGE', `The line is longer than ${MAX_LINE_BYTES} bytes.`)
    }
    const parsed = parseBag(bytes)
    const bag = check(selectedId === undefined ? parsed : { id: selectedId, ...parsed })
    const known = bag['id'] === undefined ? idOf?.(line, bag) : undefined
    const hasFreshId = bag['id'] === undefined && known === undefined
    const id = hasFreshId ? freshIdOf?.(bag) : known
    return { line, bag: id === undefined ? bag : { id, ...bag }, hasFreshId }
  } catch (error) {
    if (!isLineError(error)) throw error
    refuse(line, error)
    return undefined
  }
}

function isLineError(error: unknown): error is LooseleafError {
  return isLooseleafError(error) && LINE_ERRORS.includes(error.code)
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
