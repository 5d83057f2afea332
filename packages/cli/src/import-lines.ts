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

/** A line that is not in the store, and why; the message names properties and kinds, never values. */
export interface RefusedLine {
  readonly line: number
  readonly code: ErrorCode
  readonly message: string
}

export interface ImportOptions {
  /** What a refused line does: end the import, or be left out. */
  readonly onError: 'stop' | 'skip'
  /** Lines that are taken up, in their order; all others are passed over. */
  readonly lines: readonly LineRange[]
  /** The id of a line that has none of its own; where it gives none, the store makes a fresh one. */
  readonly idOf?: ((line: number) => EntityId | undefined) | undefined
  /** What is stored of a bag. Throws what is wrong with the line. */
  readonly check?: ((bag: Bag) => Bag) | undefined
  /** Ends the import when what is under way is done. */
  readonly signal: AbortSignal
  onRefused(refused: RefusedLine): void
  /** Told after every batch. */
  onProgress(lines: number): void
}

export interface ImportResult {
  /** Lines with something on them that were taken up, refused ones included. */
  readonly lines: number
  readonly created: number
  readonly replaced: number
  readonly refused: number
  /** All lines were read, a refused one has ended the import, the signal has, or what `failure` has. */
  readonly ended: 'all' | 'refused' | 'interrupted' | 'failed'
  /** Where to go on: every line before this one is in the store or was refused, and none from here on unless it has failed. */
  readonly nextLine: number
  /**
   * With which lines to go on so that none is stored twice, as `linesToText` writes them: a line whose fate is unknown, and that has no id
   * of its own, has the id that it was given. Undefined for `all`.
   */
  readonly left: string | undefined
  readonly failure: ImportFailure | undefined
}

/** What has ended an import and was no fault of a line. */
export interface ImportFailure {
  /** Of the first line that it has kept out; undefined where that could not be read. */
  readonly line: number | undefined
  readonly error: unknown
}

/** Errors of a line itself: the next line may be better. Any other error ends an import. */
const LINE_ERRORS: readonly ErrorCode[] = [
  'BAD_PROPERTY',
  'BAD_ID',
  'BAD_INDEX_VALUE',
  'BODY_TOO_LARGE',
  'DUPLICATE_KEY',
  'SCHEMA_MISMATCH',
]

/**
 * Two batches under way keep the lanes full while the next one is read. With twice as many entities each, an import was no faster, and
 * its process took some 60 MiB more.
 */
const BATCH = 250
const BATCHES = 2
const BATCH_BYTES = 8 * 1024 * 1024

interface FailedLine {
  readonly line: number
  readonly error: Error
  /** It had no id: another one would be made when it is taken up again. */
  readonly isFresh: boolean
}

interface Entry {
  readonly line: number
  readonly bag: Bag
}

/**
 * Puts the bags of lines into a store, hundreds at once, with a bounded number in memory. Of two lines with one id the
 * later one wins, as if they were put one after the other. An error that is not a line's own ends the import, when everything
 * under way has ended: only then is it known which lines are stored.
 */
export async function importLines(
  store: DataStore,
  lines: AsyncIterable<Line>,
  options: ImportOptions,
): Promise<ImportResult> {
  const { onError, idOf, check, signal, onRefused, onProgress } = options
  const underWay = new Set<Promise<void>>()
  /** Ids of the batch being gathered and of those under way. */
  const ids = new Set<string>()
  let batch: Entry[] = []
  let batchBytes = 0
  let taken = 0
  let created = 0
  let replaced = 0
  let refused = 0
  let lastLine = 0
  let selected = options.lines
  const failed: FailedLine[] = []
  /** The last line that was stored under an id that it would not get again. */
  let lastFresh = 0
  let unread: { readonly error: unknown } | undefined

  const refuse = (line: number, error: LooseleafError): void => {
    refused++
    onRefused({ line, code: error.code, message: error.message })
  }

  const settle = (entries: readonly Entry[], fates: readonly Fate<PutResult>[]): void => {
    for (const [i, fate] of fates.entries()) {
      const { line, bag } = entries[i] as Entry
      if (fate.ok) {
        if (bag['id'] === undefined) lastFresh = Math.max(lastFresh, line)
        if (fate.value.created) created++
        else replaced++
      } else if (isLineError(fate.error)) refuse(line, fate.error)
      else failed.push({ line, error: fate.error, isFresh: bag['id'] === undefined })
    }
  }

  const send = (): void => {
    const entries = batch
    batch = []
    batchBytes = 0
    if (entries.length === 0) return
    const work = store
      // Without the signal: what was begun is finished, so that it is known where to go on.
      .putMany(
        entries.map(({ bag }) => bag),
        { fates: true },
      )
      .then((fates) => settle(entries, fates))
      .finally(() => {
        underWay.delete(work)
        for (const { bag } of entries) if (typeof bag['id'] === 'string') ids.delete(bag['id'].toLowerCase())
        onProgress(lastLine)
      })
    underWay.add(work)
  }

  const take = async ({ number, bytes }: Line): Promise<void> => {
    lastLine = number
    if (selected[0] !== undefined && selected[0].to < number) selected = linesFrom(selected, number)
    const [range] = selected
    if (range === undefined || number < range.from || (bytes !== undefined && isBlank(bytes))) return
    taken++
    const bag = bagOf(number, bytes, { refuse, check, id: () => range.id ?? idOf?.(number) })
    if (bag === undefined) return
    const id = typeof bag['id'] === 'string' ? bag['id'].toLowerCase() : undefined
    if (id !== undefined && ids.has(id)) {
      // The earlier line of this id has to be done first.
      send()
      await Promise.all(underWay)
    }
    if (id !== undefined) ids.add(id)
    batch.push({ line: number, bag })
    batchBytes += bytes?.length ?? 0
    if (batch.length >= BATCH || batchBytes >= BATCH_BYTES) send()
    if (underWay.size >= BATCHES) await Promise.race(underWay)
  }

  const mayGoOn = (): boolean =>
    selected.length > 0 && failed.length === 0 && !signal.aborted && (refused === 0 || onError === 'skip')

  try {
    for await (const line of lines) {
      await take(line)
      if (!mayGoOn()) break
    }
  } catch (error) {
    // A stream that was waited for is ended by the signal with an error of its own.
    if (!signal.aborted) unread = { error }
  }
  if (failed.length === 0 && !signal.aborted) send()
  const sentUpTo = batch[0]?.line ?? lastLine + 1
  await Promise.all(underWay)
  failed.sort((a, b) => a.line - b.line)
  const [first] = failed
  const failure: ImportFailure | undefined = first ?? (unread && { line: undefined, error: unread.error })
  const nextLine = first?.line ?? sentUpTo
  const isRefused = refused > 0 && onError === 'stop'
  const ended = failure ? 'failed' : signal.aborted ? 'interrupted' : isRefused ? 'refused' : 'all'
  // Lines with ids may be stored again; one without would be another entity.
  const isTwice = lastFresh > nextLine || failed.some((line) => unknownId(line) !== undefined)
  const rest = linesFrom(options.lines, isTwice ? sentUpTo : nextLine)
  const left = ended === 'all' ? undefined : linesToText([...(isTwice ? failed.map(rangeOf) : []), ...rest])
  return { lines: taken, created, replaced, refused, ended, nextLine, left, failure }
}

function rangeOf(failed: FailedLine): LineRange {
  const id = unknownId(failed)
  return { from: failed.line, to: failed.line, ...(id !== undefined && { id }) }
}

/** The id of an entity that may be stored, and that its line does not have. */
function unknownId({ error, isFresh }: FailedLine): EntityId | undefined {
  return isFresh && isLooseleafError(error) && error.unknownOutcome ? error.entity : undefined
}

interface BagOptions {
  refuse(line: number, error: LooseleafError): void
  readonly check: ImportOptions['check']
  id(): EntityId | undefined
}

function bagOf(line: number, bytes: Buffer | undefined, options: BagOptions): Bag | undefined {
  const { refuse, check, id } = options
  try {
    if (bytes === undefined) {
      throw new LooseleafError('BODY_TOO_LARGE', `The line is longer than ${MAX_LINE_BYTES} bytes.`)
    }
    const bag = parseBag(bytes)
    const given = bag['id'] === undefined ? id() : undefined
    const whole = given === undefined ? bag : { id: given, ...bag }
    return check === undefined ? whole : check(whole)
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
