import { platformTime } from '@looseleaf/core'
import { clientError } from '../errors/errors.ts'

/**
 * Waits for something that calls back, for so many milliseconds at the most, and rejects with `CALL_DEADLINE` then.
 * mysql2 forgets its callbacks when a connection is destroyed, and never calls them when one falls silent.
 */
export function withDeadline<T>(
  milliseconds: number,
  begin: (done: (error: unknown, result: T) => void) => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = platformTime.setTimeout(() => {
      // A process that was held up itself has answers that it has not looked at: they are taken first.
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
