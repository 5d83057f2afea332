import { describeKind, LooseleafError } from '@looseleaf/core'
import { withDeadline } from '../bounds/with-deadline.ts'
import type { ConnectionTarget } from './target.ts'

/**
 * The password for a new connection, within so many milliseconds. Nothing that goes wrong here says anything of the server.
 * Throws `SHARD_UNAVAILABLE` when the function for it fails or takes longer, and `SHARD_DENIED` when it gives no string.
 */
export async function passwordOf(
  { name, password }: ConnectionTarget,
  milliseconds: number,
): Promise<string> {
  let given: unknown
  try {
    given = await withDeadline<unknown>(milliseconds, (done) => {
      Promise.resolve(password()).then(
        (value) => done(null, value),
        (error: unknown) => done(error, undefined),
      )
    })
  } catch (cause) {
    throw new LooseleafError(
      'SHARD_UNAVAILABLE',
      `${name}: no connection was opened, because the function that gives the password failed, or took longer than ${Math.round(milliseconds)} ms.`,
      { shard: name, cause },
    )
  }
  if (typeof given === 'string') return given
  throw new LooseleafError(
    'SHARD_DENIED',
    `${name}: the function for the password has to give a string; it gave ${describeKind(given)}.`,
    { shard: name },
  )
}
