import { isLooseleafError } from 'looseleaf'

/** Thrown by a route to answer with a page that says what is the matter. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  readonly title: string
  /** Of the answer. */
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, title: string, text: string, headers: Readonly<Record<string, string>> = {}) {
    super(text)
    this.status = status
    this.title = title
    this.headers = headers
  }
}

export function notFound(what: string): Problem {
  return new Problem(
    404,
    'Not in this binder',
    `There is no ${what} here. It may have been taken out, or the address is a little off.`,
  )
}

export function forgedForm(): Problem {
  return new Problem(
    403,
    'That form is out of date',
    'It was made for another session, or for none. Go back, load the page again and send it once more; nothing has been changed.',
  )
}

/** In seconds: what programs wait for. */
const SOON = { 'retry-after': '10' }

/**
 * Any error as the problem that people are told about. What nobody foresaw tells them nothing of its inside. `isRead`: they have only
 * looked at a page, and sent nothing.
 */
export function problemOf(error: unknown, isRead = false): Problem {
  if (error instanceof Problem) return error
  if (isLooseleafError(error, 'BAD_CURSOR')) {
    return new Problem(
      400,
      'That page cannot be turned to',
      'The address of this page is not one that this site has given. Start again at the top.',
    )
  }
  if (isLooseleafError(error) && error.unknownOutcome) {
    return new Problem(
      503,
      'That may have been saved, or not',
      'A database broke off before it answered. Look whether what you sent is there before you send it once more.',
      SOON,
    )
  }
  if (isLooseleafError(error) && error.retryable) {
    return new Problem(
      503,
      'One moment, please',
      isRead
        ? 'A database did not answer this request. Nothing that is stored is lost. Try again in a little while.'
        : 'A database did not answer this request. Nothing that is stored is lost, but what you have sent was not saved: go back, and send it again in a little while.',
      SOON,
    )
  }
  const status = statusOf(error)
  if (status === 413)
    return new Problem(413, 'That is too much at once', 'What was sent is larger than this page takes.')
  if (status === 415)
    return new Problem(
      415,
      'That cannot be read here',
      'The form came in a shape that this page does not know.',
    )
  if (status !== undefined && status >= 400 && status < 500) {
    return new Problem(
      status,
      'That did not make sense',
      'The request could not be understood. Nothing has been changed.',
    )
  }
  return new Problem(
    500,
    'Something has come loose',
    'That should not have happened, and it is not your fault. It has been written down in the log.',
  )
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return undefined
  return typeof error.statusCode === 'number' ? error.statusCode : undefined
}
