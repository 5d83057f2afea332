import type { IncomingMessage, ServerResponse } from 'node:http'
import { describeKind, LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { Acts, Deed } from '../acts/acts.ts'
import { Refusal } from '../acts/refusal.ts'
import { markup } from '../html.ts'
import { headersWith } from '../page.ts'
import type { Answer } from '../routes.ts'
import { readOffered, type OfferedIndex } from './index-state.ts'
import type { Latencies } from './latencies.ts'
import { confirmPage, livePage, livePart, type Filled, type LiveView } from './live-page.ts'
import { LIVE_SCRIPT_HASH } from './live-script.ts'
import { createStreams } from './streams.ts'

export interface LiveOptions {
  /** Indexes that are shown, and that may be added and dropped where acts are allowed. */
  readonly offer: readonly IndexDefinitionData[]
  /** See `createLatencies`; the store's observer has to tell it. */
  readonly latencies: Latencies
}

/** The page where indexes come and go, its stream and its form. */
export interface Live {
  /** Answers what is asked at a path beneath the console's base, and tells whether it was one of its own. */
  handle(path: string, request: IncomingMessage, response: ServerResponse): boolean
  close(): void
}

export interface LiveContext {
  readonly store: Pick<DataStore, 'addIndex' | 'dropIndex' | 'indexes' | 'context'>
  readonly base: string
  readonly acts: Acts | undefined
  /** Makes a whole page. */
  readonly html: (answer: Answer) => string
}

const MOST_FILLED = 50

/** How long the store is waited for, in milliseconds. */
const LIMIT_MS = 5000

const HEADERS = headersWith({ scriptHash: LIVE_SCRIPT_HASH })

/** Throws `BAD_OPTION`. */
export function createLive(
  { offer, latencies }: LiveOptions,
  { store, base, acts, html }: LiveContext,
): Live {
  if (!Array.isArray(offer) || typeof latencies?.callEnded !== 'function') {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { live: { offer, latencies } }, an array of index definitions and what createLatencies gives; got ${describeKind(offer)} and ${describeKind(latencies)}.`,
    )
  }
  const path = `${base}/live`
  const streams = createStreams(async () => livePart(await look()).text)

  let filled: readonly Filled[] = []

  async function look(): Promise<LiveView> {
    const signal = AbortSignal.timeout(LIMIT_MS)
    const offered = await readOffered(store, offer, { signal }).catch(messageOf)
    if (typeof offered !== 'string') filled = withFilled(filled, offered)
    return { offered, filled, latencies, acts: acts?.list(), now: Date.now() }
  }

  function deedOf(form: URLSearchParams): Deed {
    const [name, about] = (['add', 'drop'] as const)
      .map((act) => [act, form.get(act)] as const)
      .find(([, index]) => index !== null) ?? ['add', null]
    const definition = offer.find((one) => one.name === about)
    if (definition === undefined) throw new Refusal(404, 'The application offers no such index.')
    return name === 'add'
      ? { name, about: definition.name, run: () => store.addIndex(definition) }
      : {
          name,
          about: definition.name,
          question:
            'Its tables go from every shard at once, and whatever asks it goes without. Entities stay as they are; to have it again is to fill it again.',
          run: () => store.dropIndex(definition),
        }
  }

  async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (acts === undefined) throw new Refusal(405, 'This window only looks: acts are off.')
    const form = await acts.take(request)
    const deed = deedOf(form)
    const { name, about, question } = deed
    if (question !== undefined && form.get('sure') !== 'yes') {
      const body = confirmPage({ name, about, question }, path, acts.token(request, response))
      send(response, { status: 200, title: `${name} ${about}?`, body })
      return
    }
    await acts.run(deed)
    response.writeHead(303, { location: path, 'cache-control': 'no-store' }).end()
  }

  function send(response: ServerResponse, answer: Answer, isHead = false): void {
    response.writeHead(answer.status, HEADERS)
    response.end(isHead ? undefined : html(answer))
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (request.method === 'POST') return await post(request, response)
      const token = acts?.token(request, response)
      const body = livePage(await look(), base, token)
      send(response, { status: 200, title: 'Add an index, live', body }, request.method === 'HEAD')
    } catch (error) {
      // What was not read of a form is not waited for.
      response.setHeader('connection', 'close')
      const status = error instanceof Refusal ? error.status : 500
      const body = markup`<h1>Not done</h1><p>${messageOf(error)}</p><p><a href="${path}">Back</a></p>`
      send(response, { status, title: 'Not done', body })
    }
  }

  function stream(response: ServerResponse): void {
    if (streams.add(response)) return
    response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' })
    response.end('Too many look on already.\n')
  }

  return {
    handle(asked, request, response) {
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      if (asked === `${path}/events` && request.method === 'GET') stream(response)
      else if (asked === path && (isRead || request.method === 'POST')) void serve(request, response)
      else return false
      return true
    },
    close: () => streams.close(),
  }
}

/** Some that were seen before, and those that are seen now. */
function withFilled(known: readonly Filled[], offered: readonly OfferedIndex[]): readonly Filled[] {
  const now = offered.flatMap(({ definition: { name: index }, generations }) =>
    generations.flatMap(({ report }) => report?.lastRun && { index, at: report.lastRun.finishedAt }),
  )
  const isNew = (one: Filled): boolean =>
    !known.some(({ index, at }) => index === one.index && at.getTime() === one.at.getTime())
  return [...known, ...now.filter((one) => one !== undefined).filter(isNew)].slice(-MOST_FILLED)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'Something failed.'
}
