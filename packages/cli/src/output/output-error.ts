const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full (ENOSPC)',
  EDQUOT: 'the disk quota is used up (EDQUOT)',
  EPIPE: 'its reader has closed the pipe (EPIPE)',
}

/** Reports that the output, on stdout or in a file, cannot be written. */
export class OutputError extends Error {
  /** Code of the operating system, such as `ENOSPC`. */
  readonly code: string | undefined

  /** `target` names the output at the beginning of the sentence. */
  constructor(target: string, cause: NodeJS.ErrnoException) {
    const { code } = cause
    super(`${target} cannot be written: ${REASONS[code ?? ''] ?? code ?? cause.message}.`, { cause })
    this.code = code
  }

  /** True if a reader such as `head` has read enough, which most commands do not report. */
  get isReaderGone(): boolean {
    return this.code === 'EPIPE'
  }
}

/** Marks an error that has cut the output short; its message says how much was written. */
export class IncompleteOutput extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause })
  }
}
