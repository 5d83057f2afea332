import { isLooseleafError } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'
import { markup, type Html } from '../kit/html.ts'
import { messageOf } from './read-part.ts'

export interface PageRequest {
  /** Decoded path after the name of the page and a slash; empty without one. */
  readonly rest: string
  readonly query: URLSearchParams
  /** Aborts at the time limit of the page. */
  readonly signal: AbortSignal
}

export interface Answer {
  readonly status: number
  readonly title: string
  readonly body: Html
}

export type Page = (ask: PageRequest) => Answer | Promise<Answer>

/** Pages by the first segment of their path after the base. The base itself is ''. */
export type Routes = ReadonlyMap<string, Page>

/** Time limit of a page in milliseconds. */
export const LIMIT_MS = 5000

/** Renders the page at a path after the base, such as `xray/4711`. Never rejects: an error becomes a page with its message. */
export async function answerTo(routes: Routes, path: string, query: string): Promise<Answer> {
  const slash = path.indexOf('/')
  const page = routes.get(slash === -1 ? path : path.slice(0, slash))
  const rest = slash === -1 ? '' : decoded(path.slice(slash + 1))
  if (page === undefined || rest === undefined) return notFound('There is no such page.')
  const signal = platformTime.abortAfter(LIMIT_MS)
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([
      (async () => page({ rest, query: new URLSearchParams(query), signal }))(),
      timeout,
    ])
  } catch (error) {
    return signal.aborted
      ? failed(503, `The store did not answer within ${LIMIT_MS / 1000} seconds.`)
      : failed(isLooseleafError(error) ? 503 : 500, messageOf(error))
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

export function notFound(message: string): Answer {
  return { status: 404, title: 'Not found', body: markup`<h1>Not found</h1><p>${message}</p>` }
}

function failed(status: number, message: string): Answer {
  return { status, title: 'No answer', body: markup`<h1>No answer</h1><p>${message}</p>` }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
