import { platformTime } from '@looseleaf/core/internal'
import { clientError } from '../errors/errors.ts'

/**
 * Resolves with the result of a callback, or rejects with `CALL_DEADLINE` after this many milliseconds. mysql2 never calls back
 * on a silent connection, nor on a destroyed one.
 */
export function withDeadline<T>(
  milliseconds: number,
  begin: (done: (error: unknown, result: T) => void) => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = platformTime.setTimeout(() => {
      // After a pause of this process, answers may wait in the socket: `setImmediate` lets them come first.
      platformTime.setImmediate(() => reject(clientError('CALL_DEADLINE')))
    }, milliseconds)
    try {
      begin((error, result) => {
        platformTime.clearTimeout(timer)
        if (error === null || error === undefined) resolve(result)
        else reject(error)
      })
    } catch (error) {
      platformTime.clearTimeout(timer)
      reject(error)
    }
  })
}
