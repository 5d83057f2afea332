import type { IncomingMessage, ServerResponse } from 'node:http'
import { describeKind, guarded, isLooseleafError, LooseleafError } from '@looseleaf/core'
import { createFormTokens } from './form-token.ts'
import { readForm } from './read-form.ts'
import { refuseForeign } from './refuse-foreign.ts'
import { Refusal } from './refusal.ts'

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
}

export interface ActsOptions {
  /** Told of each act when it has ended, for a log. */
  readonly onAct: (act: Act) => unknown
  /** The names, with their ports, by which acts may be asked for. Default: those of the machine itself, `localhost` and the like. */
  readonly hosts?: readonly string[] | undefined
}

/** Something that can be done. */
export interface Deed {
  readonly name: string
  readonly about: string
  /** What somebody has to say yes to before it is done. */
  readonly question?: string | undefined
  run(): Promise<unknown>
}

/** What is done by forms, and who may do it. */
export interface Acts {
  /** For a form of the page that is answered. */
  token(request: IncomingMessage, response: ServerResponse): string
  /** The fields of a form that may be acted on. Throws `Refusal`. */
  take(request: IncomingMessage): Promise<URLSearchParams>
  /** Does it, tells of it and keeps it. What went wrong with it is not thrown, but stands on the list. */
  run(deed: Deed): Promise<void>
  /** The last ones, the newest first. */
  list(): readonly Act[]
}

const MOST = 50

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
    async run({ name, about, run }) {
      const at = new Date()
      const startedAt = performance.now()
      let failure: string | undefined
      try {
        await run()
      } catch (error) {
        failure = isLooseleafError(error) ? `${error.code}: ${error.message}` : String(error)
      }
      const act: Act = { name, about, at, durationMs: performance.now() - startedAt, failure }
      done.unshift(act)
      done.length = Math.min(done.length, MOST)
      // It is done, whatever becomes of the log.
      guarded(
        () => onAct(act),
        (error) => process.emitWarning(`onAct of a console failed: ${String(error)}`, 'LooseleafWarning'),
      )
    },
    list: () => done,
  }
}
