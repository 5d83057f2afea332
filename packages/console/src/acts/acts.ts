import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { isLooseleafError } from '@looseleaf/core'
import { badArgument, guarded, messageOf, platformTime } from '@looseleaf/core/internal'
import { createFormTokens } from './form-token.ts'
import { readForm } from './read-form.ts'
import { refuseForeign } from './refuse-foreign.ts'
import { Refusal } from './refusal.ts'
import { timeText } from '../kit/text.ts'

/** A change that a user of the console made to the store. */
export interface Act {
  /** Verb, such as `drop`. */
  readonly name: string
  /** Object of the act, such as the name of an index. */
  readonly about: string
  readonly at: Date
  readonly durationMs: number
  /** Error that prevented or ended the act; undefined after success, and for an act that a user ended. */
  readonly failure: string | undefined
  /** Result as a sentence, also of an act that failed halfway; undefined without a result. */
  readonly outcome?: string | undefined
}

export interface ActsOptions {
  /** Called with each act after its end, for a log. */
  readonly onAct: (act: Act) => unknown
  /** Host names, with their ports, under which the console accepts acts. Default: names of this machine, such as `localhost`. */
  readonly hosts?: readonly string[] | undefined
}

export interface ActContext {
  /** Aborts when the console is closed, when a user ends the act, and at the time limit. */
  readonly signal: AbortSignal
  showProgress(progress: string): void
  /** Sets the outcome, a sentence. The last call wins. */
  setOutcome(outcome: string): void
}

export interface RunningAct extends Pick<Act, 'name' | 'about' | 'at'> {
  /** Text about the progress; empty until the first one. */
  readonly progress: string
  /** Label of the button that ends the act; undefined if it cannot be ended. */
  readonly endLabel: string | undefined
}

/** An act that a form requests. */
export interface PlannedAct {
  readonly name: string
  readonly about: string
  /** Text of the confirmation; undefined if none is needed. */
  readonly question?: string | undefined
  /** Label of the button that ends the act, such as `Bring it back`. Default: there is no such button. */
  readonly endLabel?: string | undefined
  run(actContext: ActContext): Promise<unknown>
}

/** Checks the forms of acts, and runs and lists acts. */
export interface Acts {
  /** Returns the token for a form of the answered page. */
  token(request: IncomingMessage, response: ServerResponse): string
  /** Reads and checks a form. Throws `Refusal`. */
  take(request: IncomingMessage): Promise<URLSearchParams>
  /**
   * Starts an act. Resolves at its end or after a second; the act then continues in the background. An error of the act appears
   * in the list and is not thrown. Throws `Refusal` while another act on the same subject runs.
   */
  begin(planned: PlannedAct): Promise<void>
  /** Returns the last acts that have ended, the newest first. */
  list(): readonly Act[]
  inProgress(): readonly RunningAct[]
  /** Ends the running act on a subject, and waits like `begin`. Throws `Refusal` if no act runs that can be ended. */
  end(about: string): Promise<RunningAct>
  /** Aborts the running acts, and refuses new ones. */
  close(): void
}

const MAX_ACTS = 50
/** Milliseconds for which an answer waits for the end of its act. */
const ANSWER_MS = 1000
/** Time limit of an act in milliseconds. */
const LIMIT_MS = 600_000

/** Creates the acts of a console. `path` is the prefix of all pages with forms. `onWarning` receives exceptions of `onAct`. Throws `BAD_OPTION`. */
export function createActs(options: ActsOptions, path: string, onWarning: (message: string) => void): Acts {
  const { onAct, hosts } = options
  if (typeof onAct !== 'function')
    throw badArgument('createConsole', '{ acts: { onAct } }, a function for each act', onAct)
  if (hosts !== undefined && !(Array.isArray(hosts) && hosts.every((host) => typeof host === 'string')))
    throw badArgument(
      'createConsole',
      "{ acts: { hosts } }, an array of host names such as 'store.example.org:8080'",
      hosts,
    )
  const tokens = createFormTokens(path)
  const ended: Act[] = []
  const closing = new AbortController()
  /** Running acts by their subject. Two acts on one subject would interfere. */
  const running = new Map<string, { act: RunningAct; ended: Promise<void>; end(): void }>()

  function start(planned: PlannedAct): Promise<void> {
    const { name, about, endLabel } = planned
    const early = new AbortController()
    const { promise: end, resolve } = Promise.withResolvers<void>()
    const act = { name, about, at: new Date(), progress: '', endLabel }
    running.set(about, { act, ended: end, end: () => early.abort() })
    void run(planned, act, early.signal).then(resolve)
    return end
  }

  async function run(
    { name, about, run: work }: PlannedAct,
    shown: { readonly at: Date; progress: string },
    early: AbortSignal,
  ): Promise<void> {
    const { at } = shown
    const startedAt = platformTime.elapsed()
    const late = platformTime.abortAfter(LIMIT_MS)
    let failure: string | undefined
    let outcome: string | undefined
    try {
      await work({
        signal: AbortSignal.any([closing.signal, early, late]),
        showProgress: (progress) => void (shown.progress = progress),
        setOutcome: (text) => void (outcome = text),
      })
    } catch (error) {
      // A user who ends an act gets no error for it.
      if (early.aborted && isLooseleafError(error, 'ABORTED'))
        outcome ??= 'Ended early; changes made so far stay.'
      else
        failure = late.aborted
          ? `The time limit of ${LIMIT_MS / 60_000} minutes has ended it; changes made so far stay.`
          : isLooseleafError(error)
            ? `${error.code}: ${error.message}`
            : messageOf(error)
    }
    running.delete(about)
    const act: Act = { name, about, at, durationMs: platformTime.elapsed() - startedAt, failure, outcome }
    ended.unshift(act)
    ended.length = Math.min(ended.length, MAX_ACTS)
    // An error of the log does not change the result of the act.
    guarded(
      () => onAct(act),
      (error) => onWarning(`onAct of a console failed: ${String(error)}`),
    )
  }

  return {
    token: tokens.issue,
    async take(request) {
      refuseForeign(request, hosts)
      const form = await readForm(request)
      if (!tokens.isValid(request, form.get('token')))
        throw new Refusal(
          403,
          'This form belongs to another browser or to an earlier process. Load the page again.',
        )
      return form
    },
    async begin(planned) {
      const other = running.get(planned.about)?.act
      if (other !== undefined)
        throw new Refusal(
          409,
          `${other.about} is busy: ${other.name} has been running since ${timeText(other.at)}. Wait for its end.`,
        )
      if (closing.signal.aborted) throw new Refusal(503, 'The console is closed.')
      await Promise.race([start(planned), sleep(ANSWER_MS, undefined, { ref: false })])
    },
    async end(about) {
      const current = running.get(about)
      if (current?.act.endLabel === undefined)
        throw new Refusal(409, `No act on ${about} can be ended: it has ended already.`)
      current.end()
      await Promise.race([current.ended, sleep(ANSWER_MS, undefined, { ref: false })])
      return current.act
    },
    list: () => ended,
    inProgress: () => [...running.values()].map(({ act }) => act),
    close: () => closing.abort(),
  }
}
