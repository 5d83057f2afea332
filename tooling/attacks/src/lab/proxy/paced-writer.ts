import type { Socket } from 'node:net'

/** Writes to a socket at the pace of its fault, in order. */
export interface PacedWriter {
  write(bytes: Buffer): void
  /** Closes the socket regularly after all bytes were sent. */
  end(): void
  setPace(pace: Pace): void
}

export interface Pace {
  readonly delayMs: number
  /** Bytes per piece; Infinity for all at once. */
  readonly piece: number
  readonly pauseMs: number
}

export const FULL_PACE: Pace = { delayMs: 0, piece: Infinity, pauseMs: 0 }

interface Waiting {
  readonly bytes: Buffer | 'end'
  readonly due: number
}

/** `source` supplies the bytes; it is paused while the socket is full. */
export function createPacedWriter(socket: Socket, source: Socket): PacedWriter {
  const queue: Waiting[] = []
  let pace = FULL_PACE
  let timer: NodeJS.Timeout | undefined

  socket.on('drain', () => source.resume())
  socket.on('close', () => {
    clearTimeout(timer)
    queue.length = 0
  })

  function send(bytes: Buffer): void {
    if (socket.destroyed || !socket.writable) return
    if (!socket.write(bytes)) source.pause()
  }

  function pump(): void {
    timer = undefined
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      const wait = next.due - performance.now()
      if (wait > 0) return schedule(wait)
      queue.shift()
      if (next.bytes === 'end') return void socket.end()
      if (next.bytes.length <= pace.piece) send(next.bytes)
      else {
        send(next.bytes.subarray(0, pace.piece))
        queue.unshift({ bytes: next.bytes.subarray(pace.piece), due: performance.now() + pace.pauseMs })
      }
    }
  }

  function schedule(milliseconds: number): void {
    timer ??= setTimeout(pump, Math.max(1, milliseconds))
  }

  function take(bytes: Buffer | 'end'): void {
    queue.push({ bytes, due: performance.now() + pace.delayMs })
    if (timer === undefined) pump()
  }

  return {
    write: take,
    end: () => take('end'),
    setPace(next) {
      pace = next
    },
  }
}
