import { isError } from '@looseleaf/core/internal'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Html, markup } from '../html/html.ts'
import { headersWith } from '../html/page.ts'
import type { Answer } from '../requests/routes.ts'
import { capital, timeText } from '../html/text.ts'
import type { Acts, RunningAct, PlannedAct } from './acts.ts'
import { LIVE_SCRIPT, LIVE_SCRIPT_HASH } from './live-script.ts'
import { Refusal } from './refusal.ts'
import { createStreams } from './streams.ts'

/** A page that refreshes itself and has buttons for acts. */
export interface ActPage {
  /** Answers a request if its path belongs to this page. Returns whether it did. */
  handle(path: string, request: IncomingMessage, response: ServerResponse): boolean
  close(): void
}

export interface ActPageOptions {
  readonly path: string
  readonly title: string
  /** Introduction above the refreshed part. */
  readonly lead: Html
  /** Undefined if acts are off. */
  readonly acts: Acts | undefined
  /** Renders the refreshed part: one element whose attribute `data-news` has the news for screen readers. */
  part(): Promise<Html>
  /** Returns the act that a form requests. Throws `Refusal`. */
  planAct(form: URLSearchParams): PlannedAct
  /** Renders a whole page. */
  html(answer: Answer): string
}

/** Id of the form that all buttons of the page submit. It stands outside the refreshed part. */
export const ACT_FORM = 'act'
/** Name of the field of a button that ends a running act. */
const END = 'end'

const HEADERS = headersWith({ scriptHash: LIVE_SCRIPT_HASH })

export function createActPage({ path, title, lead, acts, part, planAct, html }: ActPageOptions): ActPage {
  const streams = createStreams(async () => (await part()).text)

  async function bodyOf(token: string | undefined): Promise<Html> {
    return markup`<h1>${title}</h1>
<p class="lead">${lead}${acts === undefined ? ' This console is read-only; the application can allow acts.' : ''}</p>
${token === undefined ? undefined : markup`<form id="${ACT_FORM}" method="post" action="${path}"><input type="hidden" name="token" value="${token}"></form>`}
<p role="status" id="news" class="unseen"></p>
<div id="live" data-stream="${path}/events">${await part()}</div>
<p><a href="${path}">Refresh</a></p>
<script>${new Html(LIVE_SCRIPT)}</script>`
  }

  async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (acts === undefined) throw new Refusal(405, 'This console is read-only: acts are off.')
    const form = await acts.take(request)
    const early = form.get(END)
    if (early !== null) {
      return redirectBack(response, await acts.end(early))
    }
    const planned = planAct(form)
    if (planned.question !== undefined && form.get('sure') !== 'yes') {
      const body = confirmation(planned, planned.question, acts.token(request, response))
      send(response, { status: 200, title: `${capital(planned.name)} ${planned.about}?`, body })
      return
    }
    await acts.begin(planned)
    redirectBack(response, planned)
  }

  /** Redirects to the pressed button, or to the element that replaces it, so that the keyboard focus stays there. */
  function redirectBack(response: ServerResponse, { name, about }: Pick<PlannedAct, 'name' | 'about'>): void {
    const location = `${path}#${encodeURIComponent(idOf(name, about))}`
    response.writeHead(303, { location, 'cache-control': 'no-store' }).end()
  }

  /** Renders the question before an act that cannot be undone. */
  function confirmation({ name, about }: PlannedAct, question: string, token: string): Html {
    return markup`<h1>${capital(name)} ${about}?</h1><p class="lead">${question}</p>
<form method="post" action="${path}"><input type="hidden" name="token" value="${token}"><input type="hidden" name="sure" value="yes">
<p class="acts"><button name="${name}" value="${about}">Yes, ${name} ${about}</button> <a href="${path}" autofocus>No, leave it</a></p></form>`
  }

  function send(response: ServerResponse, answer: Answer, isHead = false): void {
    const text = isHead ? undefined : html(answer)
    response.writeHead(answer.status, HEADERS)
    response.end(text)
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (request.method === 'POST') return await post(request, response)
      const body = await bodyOf(acts?.token(request, response))
      send(response, { status: 200, title, body }, request.method === 'HEAD')
    } catch (error) {
      // Closes the connection instead of waiting for the rest of an unread form.
      response.setHeader('connection', 'close')
      const status = error instanceof Refusal ? error.status : 500
      const body = markup`<h1>Not done</h1><p>${messageOf(error)}</p><p><a href="${path}">Back</a></p>`
      send(response, { status, title: 'Not done', body })
    }
  }

  function stream(response: ServerResponse): void {
    if (streams.add(response)) return
    response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' })
    response.end('Too many browsers watch this page.\n')
  }

  return {
    handle(requested, request, response) {
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      const site = request.headers['sec-fetch-site']
      const isForeign = site === 'cross-site' || site === 'same-site'
      if (requested === `${path}/events` && request.method === 'GET' && !isForeign) stream(response)
      else if (requested === path && (isRead || request.method === 'POST')) void serve(request, response)
      else return false
      return true
    },
    close: () => streams.close(),
  }
}

/** Renders the button of an act. Its id depends only on the act and its subject, so the focus survives a refresh. */
export function actButton(act: string, about: string, label: string): Html {
  return markup`<button form="${ACT_FORM}" id="${idOf(act, about)}" name="${act}" value="${about}">${label}</button>`
}

/** Renders the button of an act; while that act runs, its state; and nothing while another act on the same subject runs. */
export function actOrState(
  running: readonly RunningAct[],
  act: string,
  about: string,
  label: string,
  runningLabel: string,
): Html {
  const current = running.find((each) => each.about === about)
  if (current === undefined) return actButton(act, about, label)
  return current.name === act ? actState(current, runningLabel) : markup``
}

/** Renders the state of a running act, with a button that ends it if it can be ended. */
export function actState(running: RunningAct, label: string): Html {
  const { name: act, about, at, progress, endLabel } = running
  return markup`<span class="now"><strong>${label}</strong> since ${timeText(at)}${progress === '' ? '' : `: ${progress}`}. ${endLabel === undefined ? undefined : markup`<button form="${ACT_FORM}" id="${idOf(act, about)}" name="${END}" value="${about}">${endLabel}</button>`}</span>`
}

/** Returns the id of a button. An id has no spaces. */
function idOf(act: string, about: string): string {
  return `${act}-${about}`.replaceAll(/\s+/g, '-')
}

export function messageOf(error: unknown): string {
  return isError(error) ? error.message : 'An unknown error occurred.'
}
