import { platformTime } from '@looseleaf/core'
export interface SilenceWatchOptions {
  /** When the server has said something last, by `performance.now()`. */
  readonly lastAnswer: () => number
  /** Asks the server for a sign of life. Always ends, and never rejects. */
  readonly ask: () => Promise<void>
}

/**
 * Notices that calls wait and the server does not respond at all. Calls share statements, so a server that is gone fails few of
 * them, each after its deadline; somebody has to ask it.
 */
export interface SilenceWatch {
  /** A call begins to wait for the server. */
  begin(): void
  /** It has ended, in whatever way. */
  end(): void
  stop(): void
}

/** Statements take their time, so a server that says nothing for so long is merely asked. */
const SILENCE_MS = 1_000
const LOOK_MS = 250

export function createSilenceWatch({ lastAnswer, ask }: SilenceWatchOptions): SilenceWatch {
  let waiting = 0
  /** When the first of the calls that wait has begun to. */
  let since = 0
  let isAsking = false
  let timer: NodeJS.Timeout | undefined

  function look(): void {
    // It is not begun and ended with every call, of which there are thousands a second.
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
      // The calls themselves keep the process running.
      timer ??= platformTime.setInterval(look, LOOK_MS).unref()
    },
    end() {
      waiting--
    },
    stop,
  }
}
