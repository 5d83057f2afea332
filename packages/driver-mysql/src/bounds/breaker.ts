import { LooseleafError, platformTime } from '@looseleaf/core'
import { CircuitState, ConsecutiveBreaker, ConstantBackoff, circuitBreaker, handleAll } from 'cockatiel'

/** What connections tell of the server behind them. */
export interface Health {
  /** The server has said something, an error of its own included: what failed before does not count any more. */
  answered(): void
  /** It could not be reached, was lost or stayed silent, in a call that began then, by `performance.now()`. */
  failed(began: number): void
  /** A new connection got not a word from it in all the time that it may take. One such is enough, unless others were answered. */
  silent(began: number): void
}

export interface BreakerOptions {
  /** The shard's name, for errors. */
  readonly name: string
  /** Failures in a row, without an answer between them, after which calls are refused. */
  readonly failures: number
  /** Milliseconds between two attempts to reach a server again. */
  readonly probeMs: number
  /** Tries to reach the server: resolves when it answers, rejects when it does not, and always does one of them. */
  readonly probe: () => Promise<void>
  /** Called when calls are refused from now on, and again by every probe that fails. */
  readonly onOpen: (refusal: LooseleafError) => void
  /** Called when they may pass again. */
  readonly onClose: () => void
}

/** Keeps calls from waiting for a server that is gone, and notices by itself when it is back. */
export interface Breaker extends Health {
  /** The error of every call at this time, or undefined while calls may pass. */
  readonly refusal: LooseleafError | undefined
  /** When the server has said something last, by `performance.now()`. */
  readonly lastAnswer: number
  /** Ends the probing. */
  stop(): void
}

export function createBreaker({ name, failures, probeMs, probe, onOpen, onClose }: BreakerOptions): Breaker {
  const inARow = new ConsecutiveBreaker(failures)
  const circuit = circuitBreaker(handleAll, {
    breaker: {
      state: undefined,
      success: () => inARow.success(),
      failure: () => inARow.failure() || isSilent,
    },
    // The timer below says when to probe. By itself the library goes by the wall clock, and a clock that is set back
    // would keep the shard closed for as long.
    halfOpenAfter: new ConstantBackoff(Number.NEGATIVE_INFINITY),
  })
  let lastAnswer = Number.NEGATIVE_INFINITY
  let isSilent = false
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const refusal = (): LooseleafError =>
    new LooseleafError(
      'SHARD_UNAVAILABLE',
      `${name}: ${isSilent ? 'the server does not respond' : `the server could not be reached ${failures} times in a row`};` +
        ` calls are refused until it answers again, which is tried every ${probeMs} ms. The call was not sent.`,
      { shard: name },
    )

  circuit.onBreak(() => {
    if (stopped) return
    // Nobody waits for a probe, and none of them keeps the process alive.
    timer = platformTime.setTimeout(() => void circuit.execute(probe).catch(() => {}), probeMs)
    timer.unref()
    onOpen(refusal())
  })
  circuit.onReset(() => {
    lastAnswer = platformTime.elapsed()
    isSilent = false
    onClose()
  })

  function failed(began: number): void {
    // A call that began before the last answer tells of a time that is over.
    if (began < lastAnswer || circuit.state !== CircuitState.Closed) return
    void circuit.execute(() => Promise.reject(new Error('failed'))).catch(() => {})
  }

  return {
    get lastAnswer() {
      return lastAnswer
    },
    get refusal() {
      return circuit.state === CircuitState.Closed ? undefined : refusal()
    },
    answered() {
      if (circuit.state !== CircuitState.Closed) return
      lastAnswer = platformTime.elapsed()
      inARow.success()
    },
    failed,
    silent(began) {
      if (began < lastAnswer || circuit.state !== CircuitState.Closed) return
      isSilent = true
      failed(began)
    },
    stop() {
      stopped = true
      platformTime.clearTimeout(timer)
    },
  }
}
