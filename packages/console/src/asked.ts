import { platformTime, type Driver, type ShardSizes, isError } from '@looseleaf/core'

/** How long a part of a page may take, in milliseconds, so that a shard which is silent takes nothing but its own part away. */
const LIMIT_MS = 2000

/** What was asked for a part of a page, or why it is not there. */
export type Asked<T> =
  | { readonly value: T; readonly failure?: undefined }
  | { readonly value?: undefined; readonly failure: string }

export async function asked<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<Asked<T>> {
  const own = platformTime.abortAfter(LIMIT_MS)
  try {
    return { value: await ask(AbortSignal.any([signal, own])) }
  } catch (error) {
    if (signal.aborted) throw error
    if (own.aborted) return { failure: `No answer within ${LIMIT_MS / 1000} seconds.` }
    return { failure: isError(error) ? error.message : 'It has failed.' }
  }
}

/** How large the tables of each shard are. */
export function askSizes(
  { shards }: Driver,
  signal: AbortSignal,
): Promise<readonly Asked<ShardSizes | undefined>[]> {
  return Promise.all(
    shards.map((shard) => asked(async (limited) => shard.sizes?.({ signal: limited }), signal)),
  )
}
