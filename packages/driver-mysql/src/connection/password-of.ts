import { setTimeout as sleep } from 'node:timers/promises'
import { describeKind, LooseleafError } from '@looseleaf/core'
import { clientError } from '../errors/errors.ts'
import type { ShardAddress } from './shard-address.ts'

/**
 * The password for a new connection, within so many milliseconds. Nothing that goes wrong here says anything of the server.
 * Throws `SHARD_UNAVAILABLE` when the function for it fails or takes longer, and `SHARD_DENIED` when it gives no string.
 */
export async function passwordOf({ name, password }: ShardAddress, milliseconds: number): Promise<string> {
  const inTime = new AbortController()
  let given: unknown
  try {
    const tooLate = sleep(milliseconds, undefined, { signal: inTime.signal }).then(() => {
      throw clientError('CALL_DEADLINE')
    })
    given = await Promise.race([Promise.resolve().then(password), tooLate])
  } catch (cause) {
    throw new LooseleafError(
      'SHARD_UNAVAILABLE',
      `${name}: no connection was opened, because the function that gives the password failed, or took longer than ${Math.round(milliseconds)} ms.`,
      { shard: name, cause },
    )
  } finally {
    inTime.abort()
  }
  if (typeof given === 'string') return given
  throw new LooseleafError(
    'SHARD_DENIED',
    `${name}: the function for the password has to give a string; it gave ${describeKind(given)}.`,
    { shard: name },
  )
}
