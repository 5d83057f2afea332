import { isError } from '@looseleaf/core'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Html, markup } from '../html.ts'
import { headersWith } from '../page.ts'
import type { Answer } from '../routes.ts'
import { timeText } from '../text.ts'
import type { Acts, ActUnderWay, Deed } from './acts.ts'
import { LIVE_SCRIPT, LIVE_SCRIPT_HASH } from './live-script.ts'
import { Refusal } from './refusal.ts'
import { createStreams } from './streams.ts'

/** A page that is looked at again by itself, and whose buttons do something. */
export interface ActPage {
  /** Answers what is asked at a path beneath the console's base, and tells whether it was one of its own. */
  handle(path: string, request: IncomingMessage, response: ServerResponse): boolean
  close(): void
}

export interface ActPageOptions {
  readonly path: string
  readonly title: string
  /** What stands above what is looked at again. */
  readonly lead: Html
  /** Undefined where acts are off. */
  readonly acts: Acts | undefined
  /** What is looked at again: one element that has in words, as `data-told`, what is new for those who do not see it. */
  part(): Promise<Html>
  /** What a form of the page asks for. Throws `Refusal`. */
  deedOf(form: URLSearchParams): Deed
  /** Makes a whole page. */
  html(answer: Answer): string
}

/** The form that buttons of such a page send; it stands outside of what is looked at again. */
export const ACT_FORM = 'act'
/** Of a button that ends early what is done to something. */
const END = 'end'

const HEADERS = headersWith({ scriptHash: LIVE_SCRIPT_HASH })

export function createActPage({ path, title, lead, acts, part, deedOf, html }: ActPageOptions): ActPage {
  const streams = createStreams(async () => (await part()).text)

  async function bodyOf(token: string | undefined): Promise<Html> {
    return markup`<h1>${title}</h1>
<p class="lead">${lead}${acts === undefined ? ' This window only looks; an application may allow acts in it.' : ''}</p>
${token === undefined ? undefined : markup`<form id="${ACT_FORM}" method="post" action="${path}"><input type="hidden" name="token" value="${token}"></form>`}
<p role="status" id="told" class="unseen"></p>
<div id="live" data-stream="${path}/events">${await part()}</div>
<p><a href="${path}">Refresh</a></p>
<script>${new Html(LIVE_SCRIPT)}</script>`
  }

  async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (acts === undefined) throw new Refusal(405, 'This window only looks: acts are off.')
    const form = await acts.take(request)
    const early = form.get(END)
    if (early !== null) {
      return leadBack(response, await acts.end(early))
    }
    const deed = deedOf(form)
    if (deed.question !== undefined && form.get('sure') !== 'yes') {
      const body = confirmation(deed, deed.question, acts.token(request, response))
      send(response, { status: 200, title: `${capital(deed.name)} ${deed.about}?`, body })
      return
    }
    await acts.begin(deed)
    leadBack(response, deed)
  }

  /** To the button that was pressed, or what stands in its place: the keyboard goes on from there. */
  function leadBack(response: ServerResponse, { name, about }: Pick<Deed, 'name' | 'about'>): void {
    const location = `${path}#${encodeURIComponent(idOf(name, about))}`
    response.writeHead(303, { location, 'cache-control': 'no-store' }).end()
  }

  /** Asks before something is done that cannot be taken back. */
  function confirmation({ name, about }: Deed, question: string, token: string): Html {
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
      const site = request.headers['sec-fetch-site']
      const isForeign = site === 'cross-site' || site === 'same-site'
      if (asked === `${path}/events` && request.method === 'GET' && !isForeign) stream(response)
      else if (asked === path && (isRead || request.method === 'POST')) void serve(request, response)
      else return false
      return true
    },
    close: () => streams.close(),
  }
}

/** `Stop`, of an act that is `stop`. */
function capital(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1)
}

/** A button of the page that does something; the names of acts and of what they are about make it the one that keeps the focus. */
export function actButton(act: string, about: string, label: string): Html {
  return markup`<button form="${ACT_FORM}" id="${idOf(act, about)}" name="${act}" value="${about}">${label}</button>`
}

/** The same button, or, while something is done to what it is about, what that is, and the button that ends it early where there is one. */
export function actOrState(
  underWay: readonly ActUnderWay[],
  act: string,
  about: string,
  label: string,
  doing: string,
): Html {
  const now = underWay.find((one) => one.about === about)
  if (now === undefined || now.name !== act)
    return now === undefined ? actButton(act, about, label) : markup``
  return actState(now, doing)
}

/** That something is done, and the button that ends it early where there is one; any page of acts may have it. */
export function actState(now: ActUnderWay, doing: string): Html {
  const { name: act, about } = now
  return markup`<span class="now"><strong>${doing}</strong> since ${timeText(now.at)}${now.progress === '' ? '' : `: ${now.progress}`}. ${now.ending === undefined ? undefined : markup`<button form="${ACT_FORM}" id="${idOf(act, about)}" name="${END}" value="${about}">${now.ending}</button>`}</span>`
}

/** Of a button; an id has no spaces. */
function idOf(act: string, about: string): string {
  return `${act}-${about}`.replaceAll(/\s+/g, '-')
}

export function messageOf(error: unknown): string {
  return isError(error) ? error.message : 'Something failed.'
}
