import { isLooseleafError, type LooseleafError } from '@looseleaf/core'
import { platformTime, untilAborted } from '@looseleaf/core/internal'
import type { DatabaseConnection } from 'kysely'
import type { Call, Session } from './session.ts'

/** A connection that a caller keeps for several statements. */
export interface HeldConnection extends DatabaseConnection {
  /** Gives the connection back. `isIntact`: no statement has failed, so its transaction can be ended in order. */
  release(isIntact: boolean): Promise<void>
}

/** Opens a connection whose statements read one snapshot, for at most so many milliseconds. */
export type OpenSnapshot = (options: {
  readonly maxMs: number
  readonly signal?: AbortSignal | undefined
}) => Promise<HeldConnection>

export interface HeldSessionOptions extends Pick<Session, 'shape'> {
  readonly connection: HeldConnection
  readonly maxMs: number
  readonly execute: (
    connection: DatabaseConnection,
    ...statement: Parameters<Session['run']>
  ) => ReturnType<Session['run']>
  /** Turns an error of the connection into a `LooseleafError`. */
  readonly errorOf: (error: unknown, call: Call) => LooseleafError
  /** Errors of statements after the time is up, and after `close`. */
  readonly tooLate: LooseleafError
  readonly closed: LooseleafError
  /** Called once, when the connection was given back. */
  readonly onEnd: () => void
}

export interface HeldSession {
  readonly session: Session
  /** See `ShardSnapshot.close`. */
  close(): Promise<void>
}

/** Sends the statements of a held connection one after the other. Gives it back once, whichever comes first: `close`, an error or the time. */
export function createHeldSession(options: HeldSessionOptions): HeldSession {
  const { connection, maxMs, execute, errorOf, tooLate, closed, onEnd, shape } = options
  /** Resolves when the statements so far are answered. */
  let answered: Promise<unknown> = Promise.resolve()
  /** The error of further statements; of those that wait as well, unless `close` was called. */
  let refusal: LooseleafError | undefined
  let failure: LooseleafError | undefined
  let released: Promise<void> | undefined

  function end(reason: LooseleafError): Promise<void> {
    refusal ??= reason
    platformTime.clearTimeout(timer)
    released ??= answered
      .then(() => connection.release(failure === undefined || failure === tooLate))
      .catch(() => {})
      .finally(onEnd)
    return released
  }

  function fail(reason: LooseleafError): void {
    failure ??= reason
    void end(reason)
  }

  const timer = platformTime.setTimeout(() => fail(tooLate), maxMs)
  timer.unref()

  const run: Session['run'] = (query, parameters, call) => {
    if (refusal !== undefined) return Promise.reject(refusal)
    const answer = answered.then(async () => {
      if (failure !== undefined) throw failure
      try {
        return await execute(connection, query, parameters, call)
      } catch (error) {
        const mapped = errorOf(error, call)
        // A statement of an aborted call was not sent.
        if (!isLooseleafError(mapped, 'ABORTED')) fail(mapped)
        throw mapped
      }
    })
    answered = answer.catch(() => {})
    return untilAborted(answer, call.signal)
  }

  const refuse = (): Promise<never> => Promise.reject(new Error('A snapshot has no further transaction.'))

  return {
    session: {
      run,
      packet: refuse,
      transaction: refuse,
      shape,
    },
    close: () => end(closed),
  }
}
