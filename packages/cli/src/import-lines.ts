import { isLooseleafError, LooseleafError, type Bag, type ErrorCode } from '@looseleaf/core'
import type { DataStore, PutManyResult } from '@looseleaf/store'
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
  /** Lines before this one are passed over. */
  readonly fromLine: number
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
  /** All lines were read, a refused one has ended the import, or the signal has. */
  readonly ended: 'all' | 'refused' | 'interrupted'
  /** Where to go on: every line before this one is in the store or was refused, and none from here on. */
  readonly nextLine: number
}

/** Errors of a line itself: the next line may be better. Any other error ends an import. */
const LINE_ERRORS: readonly ErrorCode[] = [
  'BAD_PROPERTY',
  'BAD_ID',
  'BAD_INDEX_VALUE',
  'BODY_TOO_LARGE',
  'DUPLICATE_KEY',
]

/**
 * Two batches under way keep the lanes full while the next one is read. With twice as many entities each, an import was no faster, and
 * its process took some 60 MiB more.
 */
const BATCH = 250
const BATCHES = 2
const BATCH_BYTES = 8 * 1024 * 1024

interface Entry {
  readonly line: number
  readonly bag: Bag
}

/**
 * Puts the bags of lines into a store, hundreds at once, with a bounded number in memory. Of two lines with one id the
 * later one wins, as if they were put one after the other. An error that is not a line's own is thrown when everything
 * under way has ended.
 */
export async function importLines(
  store: DataStore,
  lines: AsyncIterable<Line>,
  options: ImportOptions,
): Promise<ImportResult> {
  const { onError, fromLine, signal, onRefused, onProgress } = options
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
  let failure: { readonly line: number; readonly error: Error } | undefined

  const refuse = (line: number, error: LooseleafError): void => {
    refused++
    onRefused({ line, code: error.code, message: error.message })
  }

  const settle = (entries: readonly Entry[], results: readonly PutManyResult[]): void => {
    for (const [i, result] of results.entries()) {
      const { line } = entries[i] as Entry
      if (result.ok) {
        if (result.created) created++
        else replaced++
      } else if (isLineError(result.error)) refuse(line, result.error)
      else if (failure === undefined || line < failure.line) failure = { line, error: result.error }
    }
  }

  const send = (): void => {
    const entries = batch
    batch = []
    batchBytes = 0
    if (entries.length === 0) return
    const work = store
      // Without the signal: what was begun is finished, so that it is known where to go on.
      .putMany(entries.map(({ bag }) => bag))
      .then((results) => settle(entries, results))
      .finally(() => {
        underWay.delete(work)
        for (const { bag } of entries) if (typeof bag['id'] === 'string') ids.delete(bag['id'].toLowerCase())
        onProgress(lastLine)
      })
    underWay.add(work)
  }

  const take = async ({ number, bytes }: Line): Promise<void> => {
    lastLine = number
    if (number < fromLine || (bytes !== undefined && isBlank(bytes))) return
    taken++
    const bag = bagOf(number, bytes, refuse)
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
    failure === undefined && !signal.aborted && (refused === 0 || onError === 'skip')

  try {
    for await (const line of lines) {
      await take(line)
      if (!mayGoOn()) break
    }
  } catch (error) {
    // A stream that was waited for is ended by the signal with an error of its own.
    if (!signal.aborted) {
      await Promise.all(underWay)
      throw error
    }
  }
  if (failure === undefined && !signal.aborted) send()
  const nextLine = batch[0]?.line ?? lastLine + 1
  await Promise.all(underWay)
  if (failure !== undefined) throw atLine(failure)
  const ended = signal.aborted ? 'interrupted' : refused > 0 && onError === 'stop' ? 'refused' : 'all'
  return { lines: taken, created, replaced, refused, ended, nextLine }
}

function bagOf(
  line: number,
  bytes: Buffer | undefined,
  refuse: (line: number, error: LooseleafError) => void,
): Bag | undefined {
  try {
    if (bytes === undefined) {
      throw new LooseleafError('BODY_TOO_LARGE', `The line is longer than ${MAX_LINE_BYTES} bytes.`)
    }
    return parseBag(bytes)
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

/** The first line that failed: with ids in the lines, an import can go on from there. */
function atLine({ line, error }: { readonly line: number; readonly error: Error }): Error {
  if (!isLooseleafError(error)) return error
  const { code, shard, entity, index, holder, retryable, unknownOutcome } = error
  // Without an id the line would be another entity when it is taken up again.
  const isFresh = unknownOutcome && !retryable
  const how = isFresh ? `Write the id into the line, then go on with` : 'Go on with'
  const message = `Line ${line}: ${error.message} ${how} --from-line ${line}.`
  return new LooseleafError(code, message, {
    shard,
    entity,
    index,
    holder,
    retryable,
    unknownOutcome,
    cause: error,
  })
}
