import { isLooseleafError, platformTime, isError } from '@looseleaf/core'
import { markup, type Html } from './html.ts'

/** What a page is asked for. */
export interface Ask {
  /** What follows the name of the page and a slash in the path, decoded; empty where nothing does. */
  readonly rest: string
  readonly query: URLSearchParams
  /** Ends when the page may ask the store for nothing any more. */
  readonly signal: AbortSignal
}

export interface Answer {
  readonly status: number
  readonly title: string
  readonly body: Html
}

export type Page = (ask: Ask) => Answer | Promise<Answer>

/** The pages by the first part of their paths beneath the base; '' is the base itself. */
export type Routes = ReadonlyMap<string, Page>

/** How long a page may ask the store, in milliseconds. */
export const LIMIT_MS = 5000

/** What is found at a path beneath the base, such as `xray/4711`. Never rejects: a page that throws becomes one that says so. */
export async function answerTo(routes: Routes, path: string, query: string): Promise<Answer> {
  const cut = path.indexOf('/')
  const page = routes.get(cut === -1 ? path : path.slice(0, cut))
  const rest = cut === -1 ? '' : decoded(path.slice(cut + 1))
  if (page === undefined || rest === undefined) return notFound('There is no such page.')
  const signal = platformTime.abortAfter(LIMIT_MS)
  const { promise: tooLate, reject } = Promise.withResolvers<never>()
  const end = (): void => reject(signal.reason)
  signal.addEventListener('abort', end)
  try {
    return await Promise.race([
      (async () => page({ rest, query: new URLSearchParams(query), signal }))(),
      tooLate,
    ])
  } catch (error) {
    return signal.aborted
      ? failed(503, `The store has not answered within ${LIMIT_MS / 1000} seconds.`)
      : failed(isLooseleafError(error) ? 503 : 500, isError(error) ? error.message : 'Something failed.')
  } finally {
    signal.removeEventListener('abort', end)
  }
}

export function notFound(what: string): Answer {
  return { status: 404, title: 'Not found', body: markup`<h1>Not found</h1><p>${what}</p>` }
}

function failed(status: number, what: string): Answer {
  return { status, title: 'No answer', body: markup`<h1>No answer</h1><p>${what}</p>` }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
