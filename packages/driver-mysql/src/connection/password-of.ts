import { setTimeout as sleep } from 'node:timers/promises'
import { LooseleafError } from '@looseleaf/core'
import { describeKind } from '@looseleaf/core/internal'
import { clientError } from '../errors/errors.ts'
import type { ShardAddress } from './shard-address.ts'

/**
 * Resolves with the password for a new connection. Rejects with `SHARD_UNAVAILABLE` if the function for it fails or takes longer than
 * this many milliseconds, and with `SHARD_DENIED` if it returns no string. Neither counts against the server.
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
      `${name}: no connection was opened, because the function for the password failed, or took longer than ${Math.round(milliseconds)} ms.`,
      { shard: name, cause },
    )
  } finally {
    inTime.abort()
  }
  if (typeof given === 'string') return given
  throw new LooseleafError(
    'SHARD_DENIED',
    `${name}: the function for the password has to return a string; got ${describeKind(given)}.`,
    { shard: name },
  )
}
