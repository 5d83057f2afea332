import { signerFactory } from '@fastify/cookie'
import { beginSession, newNonce, SESSION_COOKIE, textOfKey } from '../../domain/accounts/sessions.ts'
import type { SiteData } from '../../kinds/site-data.ts'

/** Time for an answer. */
const ANSWER_MS = 30_000

export interface Answer {
  readonly status: number
  readonly text: string
  /** True if the answer says when to try again. */
  readonly saysWhen: boolean
}

/** A browser without scripts that is signed in: it keeps its cookies, and sends forms with the token of a page. */
export interface Browser {
  get(url: string): Promise<Answer>
  /** Sends a form with the token of the page at `tokenPath`, which it reads once. If that page has no form, returns the page. */
  post(url: string, fields: Readonly<Record<string, string>>): Promise<Answer>
}

/** Name of the browser in sessions that a day begins. */
export const DAY_BROWSER = 'The day'

/** Signs a person in by a session in the store, so that forms of many people at one address do not reach its limits. */
export async function signInByStore(data: SiteData, secret: string, personId: string): Promise<Browser> {
  const key = { nonce: newNonce(), personId }
  await beginSession(data, key, { browser: DAY_BROWSER, account: undefined })
  const signed = signerFactory(secret).sign(textOfKey(key.nonce, personId))
  return openBrowser(new Map([[SESSION_COOKIE, encodeURIComponent(signed)]]))
}

/** Opens a browser with these cookies. Tokens of `/store` are apart from those of the site. */
export function openBrowser(cookies = new Map<string, string>(), tokenPath = '/post'): Browser {
  let token: Promise<string | Answer> | undefined

  async function send(url: string, init: RequestInit = {}): Promise<Answer> {
    const cookie = Array.from(cookies, (pair) => pair.join('=')).join('; ')
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { cookie },
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const saysWhen = response.headers.has('retry-after')
    return { status: response.status, text: await response.text(), saysWhen }
  }

  async function readToken(url: string): Promise<string | Answer> {
    const page = await send(new URL(tokenPath, url).href)
    return /name="token" value="([^"]+)"/.exec(page.text)?.[1] ?? page
  }

  return {
    get: send,
    async post(url, fields) {
      // Forms that are sent at once share the token: another page would begin another form session.
      const reading = (token ??= readToken(url))
      let sent: string | Answer | undefined
      try {
        sent = await reading
      } finally {
        // The next form reads the page again.
        if (typeof sent !== 'string' && token === reading) token = undefined
      }
      if (typeof sent !== 'string') return sent
      return send(url, { method: 'POST', body: new URLSearchParams({ token: sent, ...fields }) })
    },
  }
}
