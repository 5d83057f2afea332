import { elapsedBy, LooseleafError, type Time } from '@looseleaf/core'

/**
 * Tells when so many milliseconds have passed since now, and rather too early: by a clock that nobody sets, and by the
 * machine's, which goes on while the machine sleeps.
 */
export function createAge(time: Time, milliseconds: number): () => boolean {
  const elapsed = elapsedBy(time)
  const from = elapsed()
  const wallFrom = time.now()
  return () => elapsed() - from >= milliseconds || time.now() - wallFrom >= milliseconds
}

/** The same, where a clock that was set back, which says nothing, counts as if it had. */
export function createCarefulAge(time: Time, milliseconds: number): () => boolean {
  const isOld = createAge(time, milliseconds)
  const from = time.now()
  return () => isOld() || time.now() < from
}

/** The error of a read of everything that took longer than lost rows are kept. */
export function tookTooLong(index: string, queryTimeMs: number): LooseleafError {
  return new LooseleafError(
    'DEADLINE',
    `Index ${index}: to read everything takes longer than the ${queryTimeMs} ms (queryTimeMs) for which this store keeps the rows of entities that move, so some might be missed. Read it page by page with \`query\`.`,
  )
}
