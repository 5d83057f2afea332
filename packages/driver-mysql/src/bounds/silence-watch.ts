import { platformTime } from '@looseleaf/core/internal'

export interface SilenceWatchOptions {
  /** Returns the time of the server's last answer, by `performance.now()`. */
  readonly lastAnswer: () => number
  /** Asks the server for a sign of life. Always resolves. */
  readonly ask: () => Promise<void>
}

/**
 * Asks a silent server for a sign of life while calls wait for it. Without the watch a dead server would be noticed late: calls
 * share statements, so only a few statements fail, each after its whole deadline.
 */
export interface SilenceWatch {
  /** Counts a call that waits for the server. */
  begin(): void
  /** Counts the end of such a call. */
  end(): void
  stop(): void
}

/** Silence after which the server is asked. It proves nothing, since statements may take longer. */
const SILENCE_MS = 1_000
const CHECK_MS = 250

export function createSilenceWatch({ lastAnswer, ask }: SilenceWatchOptions): SilenceWatch {
  let waiting = 0
  /** Time since which at least one call has been waiting. */
  let since = 0
  let isAsking = false
  let timer: NodeJS.Timeout | undefined

  function check(): void {
    // The timer ends here, and not with the last call: calls begin and end thousands of times a second.
    if (waiting === 0) return stop()
    if (isAsking || platformTime.elapsed() - Math.max(since, lastAnswer()) < SILENCE_MS) return
    isAsking = true
    void ask().finally(() => (isAsking = false))
  }

  function stop(): void {
    platformTime.clearInterval(timer)
    timer = undefined
  }

  return {
    begin() {
      if (waiting++ > 0) return
      since = platformTime.elapsed()
      // The waiting calls keep the process running, so the timer need not.
      timer ??= platformTime.setInterval(check, CHECK_MS).unref()
    },
    end() {
      waiting--
    },
    stop,
  }
}
