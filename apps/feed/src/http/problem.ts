import { isLooseleafError } from 'looseleaf'
import { isOutage, Unreadable } from '../domain/site/partial-reads.ts'
import { isOvertaken } from '../domain/site/overtaken.ts'

/** Thrown by a route to answer with an error page. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  readonly title: string
  /** Headers of the response. */
  readonly headers: Readonly<Record<string, string>>
  /** True if the same form may be sent again as it is. */
  readonly maySendAgain: boolean
  /** True if a visitor has to sign in first. */
  readonly needsSession: boolean

  constructor(
    status: number,
    title: string,
    text: string,
    headers: Readonly<Record<string, string>> = {},
    {
      maySendAgain = false,
      needsSession = false,
    }: { readonly maySendAgain?: boolean; readonly needsSession?: boolean } = {},
  ) {
    super(text)
    this.maySendAgain = maySendAgain
    this.needsSession = needsSession
    this.status = status
    this.title = title
    this.headers = headers
  }
}

/** Thrown for a request under a name that is not the site's. Its page uses nothing of the site. */
export class UnknownHost extends Problem {
  readonly host: string
  /** The site's own origin. */
  readonly home: string

  constructor(host: string | undefined, home: string) {
    super(421, 'Unknown name', 'The site is not known by that name.')
    this.host = (host ?? 'no name').slice(0, 200)
    this.home = home
  }
}

/** Tells programs to retry after this many seconds. */
const SOON = { 'retry-after': '10' }

export function notFound(thing: string): Problem {
  return new Problem(
    404,
    'Not found',
    `There is no ${thing} here. It may have been deleted, or the address is wrong.`,
  )
}

export function invalidAddress(): Problem {
  return new Problem(
    400,
    'Invalid page address',
    'This site did not create the address of this page. Start again at the first page.',
  )
}

/** The answer to a form, or to a request of an own page, whose sender could not be read. */
export function unknownSender({ isRead }: { readonly isRead: boolean }): Problem {
  const outcome = isRead ? 'Try' : 'Nothing has been saved or changed: try'
  return new Problem(
    503,
    'Your account cannot be read at the moment',
    `A part of the store does not answer, and your account is there. You are still signed in, and nothing that is stored is lost. ${outcome} again in a little while.`,
    SOON,
    { maySendAgain: !isRead },
  )
}

export function forgedForm(): Problem {
  return new Problem(
    403,
    'That form is out of date',
    'The form belongs to another session, or to none. Nothing has been changed. Go back, reload the page and send the form again.',
    {},
    { needsSession: true },
  )
}

/** The answer to a form that only a signed-in person may send. */
export function notSignedIn(): Problem {
  return new Problem(
    401,
    'You are not signed in',
    'Sign in first, and send the form again.',
    {},
    { needsSession: true },
  )
}

/** Facts about a request that has failed. */
export interface FailedRequest {
  /** True if the request only reads a page, so that nothing sent can be lost. */
  readonly isRead?: boolean
  /** True if it has written something. */
  readonly hasWritten?: boolean
}

/**
 * Converts any error to an error page. The page of an unexpected error contains no details.
 */
export function problemOf(
  error: unknown,
  { isRead = false, hasWritten = false }: FailedRequest = {},
): Problem {
  if (error instanceof Problem) return error
  if (isLooseleafError(error, 'BAD_CURSOR')) return invalidAddress()
  if (error instanceof Unreadable) {
    return new Problem(
      503,
      `This ${error.thing} cannot be read at the moment`,
      `A part of the store does not answer, and the ${error.thing} may be there. Nothing that is stored is lost. Try again in a little while.`,
      SOON,
      { maySendAgain: !isRead },
    )
  }
  if (isLooseleafError(error) && error.unknownOutcome) {
    return new Problem(
      503,
      'Your form may or may not be saved',
      'A database did not answer after it received your form. Check whether it was saved before you send it again.',
      SOON,
    )
  }
  if (isOutage(error)) {
    return new Problem(
      503,
      'One moment, please',
      isRead
        ? 'A database did not answer this request. Nothing that is stored is lost. Try again in a little while.'
        : hasWritten
          ? 'A database did not answer while your form was being saved, so it may be saved in part. Nothing that is stored is lost. Send it again in a little while: this saves the rest, and nothing twice.'
          : 'A database did not answer this request. Nothing that is stored is lost, but your form was not saved: send it again in a little while.',
      SOON,
      { maySendAgain: !isRead },
    )
  }
  if (isOvertaken(error)) {
    return new Problem(
      409,
      'Something has changed meanwhile',
      'Another form changed or deleted the same thing while yours was being saved. Go back, reload the page, and send the form again if it is still needed.',
    )
  }
  if (codeOf(error).startsWith('FST_CSRF_')) return forgedForm()
  const status = statusOf(error)
  if (status === 413)
    return new Problem(
      413,
      'That is too much at once',
      'The form is larger than this page accepts, so it was not saved. If you go back, your text should still be there.',
    )
  if (status === 415)
    return new Problem(415, 'Unsupported form', 'This page does not accept forms of this content type.')
  if (status !== undefined && status >= 400 && status < 500) {
    return new Problem(status, 'Invalid request', 'The request could not be read. Nothing has been changed.')
  }
  return new Problem(500, 'Something went wrong', 'This is an error of the site. The log has the details.')
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return undefined
  return typeof error.statusCode === 'number' ? error.statusCode : undefined
}
