import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

const COOKIE = 'looseleaf_console'

/** Tokens of forms. Each is bound to a browser by a cookie, and to this process by a key that nobody else has. */
export interface FormTokens {
  /** For a form on the page that is answered; gives the browser its cookie where it has none. Before the head is written. */
  issue(request: IncomingMessage, response: ServerResponse): string
  isRight(request: IncomingMessage, token: string | null): boolean
}

/** `path`: where the forms are. */
export function createFormTokens(path: string): FormTokens {
  const key = randomBytes(32)
  const digest = (browser: string): Buffer => createHmac('sha256', key).update(browser).digest()

  return {
    issue(request, response) {
      const known = browserOf(request)
      const browser = known ?? randomBytes(18).toString('base64url')
      if (known === undefined) {
        const secure = 'encrypted' in request.socket ? '; Secure' : ''
        response.setHeader(
          'set-cookie',
          `${COOKIE}=${browser}; Path=${path}; HttpOnly; SameSite=Strict${secure}`,
        )
      }
      return digest(browser).toString('base64url')
    },
    isRight(request, token) {
      const browser = browserOf(request)
      if (browser === undefined || token === null) return false
      const [right, given] = [digest(browser), Buffer.from(token, 'base64url')]
      return given.length === right.length && timingSafeEqual(given, right)
    },
  }
}

function browserOf({ headers }: IncomingMessage): string | undefined {
  return new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]{24})(?:;|$)`).exec(headers.cookie ?? '')?.[1]
}
