import { LooseleafError } from '@looseleaf/core'

/** Makes the error of a read of all matches that took longer than lost rows are kept. */
export function tookTooLong(index: string, queryTimeMs: number): LooseleafError {
  return new LooseleafError(
    'DEADLINE',
    `Index ${index}: reading took longer than ${queryTimeMs} ms (queryTimeMs), so entities that have moved may be missing. Read page by page, each with the cursor of the page before.`,
  )
}
