import { platformTime, type ShardSizes, isError } from '@looseleaf/core/internal'
import { presentShards, type StoreDriver } from '@looseleaf/index-engine/internal'

/** Time limit of a part of a page in milliseconds: a silent shard must not delay the other parts. */
const LIMIT_MS = 2000

export function messageOf(error: unknown): string {
  return isError(error) ? error.message : 'An unknown error occurred.'
}

/** Data for a part of a page, or the reason why it is missing. */
export type PartResult<T> =
  | { readonly value: T; readonly failure?: undefined }
  | { readonly value?: undefined; readonly failure: string }

/** Reads the data for a part of a page within two seconds. Rejects only when the page's own signal aborts. */
export async function readPart<T>(
  read: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<PartResult<T>> {
  const limit = platformTime.abortAfter(LIMIT_MS)
  try {
    return { value: await read(AbortSignal.any([signal, limit])) }
  } catch (error) {
    if (signal.aborted) throw error
    if (limit.aborted) return { failure: `No answer within ${LIMIT_MS / 1000} seconds.` }
    return { failure: messageOf(error) }
  }
}

export function readSizes(
  driver: StoreDriver,
  signal: AbortSignal,
): Promise<readonly PartResult<ShardSizes | undefined>[]> {
  return Promise.all(
    presentShards(driver).map((shard) =>
      readPart(async (limited) => shard.sizes?.({ signal: limited }), signal),
    ),
  )
}
