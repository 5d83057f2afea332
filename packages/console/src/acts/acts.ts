import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  describeKind,
  guarded,
  isLooseleafError,
  LooseleafError,
  platformTime,
  isError,
} from '@looseleaf/core'
import { createFormTokens } from './form-token.ts'
import { readForm } from './read-form.ts'
import { refuseForeign } from './refuse-foreign.ts'
import { Refusal } from './refusal.ts'
import { timeText } from '../text.ts'

/** What somebody has done to the store by a console. */
export interface Act {
  /** Such as `drop`. */
  readonly name: string
  /** What it was done to, such as the name of an index. */
  readonly about: string
  /** When it began. */
  readonly at: Date
  readonly durationMs: number
  /** Why it was not done, or not to its end; undefined where it was. */
  readonly failure: string | undefined
  /** What came of it, a sentence, also where it was not done to its end; undefined where nothing is to be said. */
  readonly outcome?: string | undefined
}

export interface ActsOptions {
  /** Told of each act when it has ended, for a log. */
  readonly onAct: (act: Act) => unknown
  /** The names, with their ports, by which acts may be asked for. Default: those of the machine itself, `localhost` and the like. */
  readonly hosts?: readonly string[] | undefined
}

/** What an act has while it is done. */
export interface Doing {
  /** Fires when the console is closed, when somebody ends the act early, and when it has taken as long as it may. */
  readonly signal: AbortSignal
  /** How far it has come, for people. */
  tell(progress: string): void
  /** What has come of it, a sentence; the last one is kept. */
  came(outcome: string): void
}

/** An act that has not ended. */
export interface ActUnderWay extends Pick<Act, 'name' | 'about' | 'at'> {
  /** How far it has come, in words; empty until it is known. */
  readonly progress: string
  /** What its button says by which it is ended early; undefined where it has none. */
  readonly ending: string | undefined
}

/** Something that can be done. */
export interface Deed {
  readonly name: string
  readonly about: string
  /** What somebody has to say yes to before it is done. */
  readonly question?: string | undefined
  /** What the button says by which it is ended early, such as `Bring it back`. Default: it has none. */
  readonly ending?: string | undefined
  run(doing: Doing): Promise<unknown>
}

/** What is done by forms, and who may do it. */
export interface Acts {
  /** For a form of the page that is answered. */
  token(request: IncomingMessage, response: ServerResponse): string
  /** The fields of a form that may be acted on. Throws `Refusal`. */
  take(request: IncomingMessage): Promise<URLSearchParams>
  /**
   * Begins it, and resolves when it has ended or after a second, whichever comes first; it goes on then. When it ends it is told of and
   * kept. What went wrong with it is not thrown, but stands on the list. Throws `Refusal` where something is done to the same thing already.
   */
  begin(deed: Deed): Promise<void>
  /** The last ones that have ended, the newest first. */
  list(): readonly Act[]
  underWay(): readonly ActUnderWay[]
  /** Ends early what is done to this thing, and resolves with it as `begin` does. Throws `Refusal` where nothing is that may be. */
  end(about: string): Promise<ActUnderWay>
  /** Ends those that are under way, as far as they can be ended, and begins no more. */
  close(): void
}

const MOST = 50
/** How long an answer waits for the end of its act, in milliseconds. */
const ANSWER_MS = 1000
/** How long an act may take, in milliseconds. */
const LIMIT_MS = 600_000

/** `path`: beneath which the forms are. Throws `BAD_OPTION`. */
export function createActs(options: ActsOptions, path: string): Acts {
  const { onAct, hosts } = options
  if (typeof onAct !== 'function') {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { acts: { onAct } }, a function that is told of each act; got ${describeKind(onAct)}.`,
    )
  }
  if (hosts !== undefined && !(Array.isArray(hosts) && hosts.every((host) => typeof host === 'string'))) {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { acts: { hosts } }, an array of names such as 'store.example.org:8080'; got ${describeKind(hosts)}.`,
    )
  }
  const tokens = createFormTokens(path)
  const done: Act[] = []
  const closing = new AbortController()
  /** By what they are about: two acts on one thing would come in each other's way. */
  const running = new Map<string, { act: ActUnderWay; ended: Promise<void>; end(): void }>()

  function start(deed: Deed): Promise<void> {
    const { name, about, ending } = deed
    const early = new AbortController()
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const act = { name, about, at: new Date(), progress: '', ending }
    running.set(about, { act, ended, end: () => early.abort() })
    void run(deed, act, early.signal).then(resolve)
    return ended
  }

  async function run(
    { name, about, run: work }: Deed,
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
        tell: (progress) => void (shown.progress = progress),
        came: (what) => void (outcome = what),
      })
    } catch (error) {
      failure = late.aborted
        ? `It was ended after ${LIMIT_MS / 60_000} minutes; what was done stays done.`
        : isLooseleafError(error)
          ? `${error.code}: ${error.message}`
          : isError(error)
            ? error.message
            : String(error)
    }
    running.delete(about)
    const act: Act = { name, about, at, durationMs: platformTime.elapsed() - startedAt, failure, outcome }
    done.unshift(act)
    done.length = Math.min(done.length, MOST)
    // It is done, whatever becomes of the log.
    guarded(
      () => onAct(act),
      (error) => process.emitWarning(`onAct of a console failed: ${String(error)}`, 'LooseleafWarning'),
    )
  }

  return {
    token: tokens.issue,
    async take(request) {
      refuseForeign(request, hosts)
      const form = await readForm(request)
      if (!tokens.isRight(request, form.get('token')))
        throw new Refusal(
          403,
          'The form was not made for this browser, or is older than this process. Load the page again.',
        )
      return form
    },
    async begin(deed) {
      const other = running.get(deed.about)?.act
      if (other !== undefined)
        throw new Refusal(
          409,
          `${other.about} is busy: ${other.name} is under way since ${timeText(other.at)}. Wait until it has ended.`,
        )
      if (closing.signal.aborted) throw new Refusal(503, 'The console is closed.')
      await Promise.race([start(deed), sleep(ANSWER_MS, undefined, { ref: false })])
    },
    async end(about) {
      const one = running.get(about)
      if (one?.act.ending === undefined)
        throw new Refusal(409, `Nothing that could be ended is done to ${about}: it has ended already.`)
      one.end()
      await Promise.race([one.ended, sleep(ANSWER_MS, undefined, { ref: false })])
      return one.act
    },
    list: () => done,
    underWay: () => [...running.values()].map(({ act }) => act),
    close: () => closing.abort(),
  }
}
