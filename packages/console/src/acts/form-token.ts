import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

const COOKIE = 'looseleaf_console'

/** Tokens against forged forms. A token is bound to a browser by a cookie, and to this process by a random key. */
export interface FormTokens {
  /** Returns a token for a form of the answered page, and sets the cookie if the browser has none. Call before `writeHead`. */
  issue(request: IncomingMessage, response: ServerResponse): string
  isValid(request: IncomingMessage, token: string | null): boolean
}

/** Creates form tokens. `path` is the path of the cookie. */
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
    isValid(request, token) {
      const browser = browserOf(request)
      if (browser === undefined || token === null) return false
      const [expected, given] = [digest(browser), Buffer.from(token, 'base64url')]
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}

function browserOf({ headers }: IncomingMessage): string | undefined {
  return new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]{24})(?:;|$)`).exec(headers.cookie ?? '')?.[1]
}
