import { platformTime } from '@looseleaf/core'
import { clientError } from '../errors/errors.ts'
import { withDeadline } from './with-deadline.ts'

/**
 * `withDeadline` for one thing after the other. The timer stays from one to the next: to set and clear one for each took a
 * twentieth of the client's time of a short statement. While nothing is waited for, it does not keep the process running.
 */
export interface DeadlineTimer {
  wait<T>(milliseconds: number, begin: (done: (error: unknown, result: T) => void) => void): Promise<T>
  /** Nothing more will be waited for. */
  stop(): void
}

export function createDeadlineTimer(): DeadlineTimer {
  let timer: NodeJS.Timeout | undefined
  /** When it looks, by `performance.now()`. */
  let looksAt = 0
  /** What is waited for, and until when. */
  let waiting: { readonly until: number; reject(error: Error): void } | undefined

  function lookAfter(milliseconds: number): void {
    platformTime.clearTimeout(timer)
    looksAt = platformTime.elapsed() + milliseconds
    timer = platformTime.setTimeout(look, milliseconds)
  }

  function look(): void {
    timer = undefined
    if (waiting === undefined) return
    const { until, reject } = waiting
    const left = until - platformTime.elapsed()
    if (left > 0) return lookAfter(left)
    waiting = undefined
    // A process that was held up itself has answers that it has not looked at: they are taken first.
    platformTime.setImmediate(() => reject(clientError('CALL_DEADLINE')))
  }

  function end(): void {
    waiting = undefined
    timer?.unref()
  }

  return {
    wait(milliseconds, begin) {
      // Two at once should not be, and then each has a timer of its own.
      if (waiting !== undefined) return withDeadline(milliseconds, begin)
      return new Promise((resolve, reject) => {
        const until = platformTime.elapsed() + milliseconds
        waiting = { until, reject }
        if (timer === undefined || looksAt > until) lookAfter(milliseconds)
        else timer.ref()
        try {
          begin((error, result) => {
            end()
            if (error === null || error === undefined) resolve(result)
            else reject(error)
          })
        } catch (error) {
          end()
          reject(error)
        }
      })
    },
    stop() {
      // What is waited for still shall end.
      if (waiting !== undefined) return
      platformTime.clearTimeout(timer)
      timer = undefined
    },
  }
}
