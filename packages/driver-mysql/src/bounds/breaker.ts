import { LooseleafError } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'

/** Reports of connections about their server. Times are by `performance.now()`. */
export interface Health {
  /** Reports an answer, also an error of the server. Resets the count of failures. */
  answered(): void
  /** Reports a connection that could not be opened, was lost or stayed silent, in a call that began at this time. */
  failed(began: number): void
  /** Reports a new connection without any byte from the server in its time. Opens the breaker, unless another one was answered since. */
  silent(began: number): void
}

export interface BreakerOptions {
  /** Name of the shard, for errors. */
  readonly name: string
  /** Consecutive failures after which the breaker opens. */
  readonly failures: number
  /** Milliseconds between two probes of an open breaker. */
  readonly probeMs: number
  /** Returns a sentence for errors about the shards that are reachable, or an empty text. Called for each rejected call. */
  readonly describeOthers?: (() => string) | undefined
  /** Tries to reach the server. Resolves if it answers, rejects otherwise, and always settles. */
  readonly probe: () => Promise<void>
  /** Called when the breaker opens, and after each failed probe. */
  readonly onOpen: (refusal: LooseleafError) => void
  readonly onClose: () => void
}

/** Rejects calls to a server that does not answer, and probes it until it does. */
export interface Breaker extends Health {
  /** Error for every call while the breaker is open; undefined while it is closed. */
  readonly refusal: LooseleafError | undefined
  readonly isRefusing: boolean
  /** Time of the server's last answer, by `performance.now()`. */
  readonly lastAnswer: number
  stop(): void
}

export function createBreaker(options: BreakerOptions): Breaker {
  const { name, failures, probeMs, probe, onOpen, onClose } = options
  let lastAnswer = Number.NEGATIVE_INFINITY
  let failuresInARow = 0
  let isSilent = false
  let isRefusing = false
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  function refusal(): LooseleafError {
    const others = options.describeOthers?.() ?? ''
    return new LooseleafError(
      'SHARD_UNAVAILABLE',
      `${name}: ${isSilent ? 'the server does not respond' : `the server could not be reached ${failures} times in a row`};` +
        ` calls are refused until it answers again, which is tried every ${probeMs} ms. The call was not sent.${others && ` ${others}`}`,
      { shard: name },
    )
  }

  function answered(): void {
    if (isRefusing) return
    lastAnswer = platformTime.elapsed()
    failuresInARow = 0
  }

  /** Opens the breaker, or keeps it open, until the next probe. */
  function open(): void {
    isRefusing = true
    if (stopped) return
    // No call waits for a probe, so its timer need not keep the process running.
    timer = platformTime.setTimeout(() => void probe().then(close, open), probeMs)
    timer.unref()
    onOpen(refusal())
  }

  function close(): void {
    if (stopped) return
    isRefusing = isSilent = false
    answered()
    onClose()
  }

  /** Ignores a failure of a call that began before the last answer: it is out of date. */
  function fail(began: number, silent: boolean): void {
    if (began < lastAnswer || isRefusing) return
    failuresInARow++
    isSilent = silent
    if (silent || failuresInARow >= failures) open()
  }

  return {
    get lastAnswer() {
      return lastAnswer
    },
    get isRefusing() {
      return isRefusing
    },
    get refusal() {
      return isRefusing ? refusal() : undefined
    },
    answered,
    failed: (began) => fail(began, false),
    silent: (began) => fail(began, true),
    stop() {
      stopped = true
      platformTime.clearTimeout(timer)
    },
  }
}
