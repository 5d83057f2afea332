/** A fault of one connection, chosen when a client connects or sends. */
export type Fault =
  /** Passes on the first bytes from the client, then resets both sides. */
  | { readonly kind: 'reset'; readonly afterBytes: number }
  /** Passes the request on, swallows the beginning of its answer, and resets the client. */
  | { readonly kind: 'lose answer' }
  /** Passes the request on, and only the first bytes of the answer; then closes regularly. */
  | { readonly kind: 'truncate answer'; readonly bytes: number }
  /** Swallows all bytes from now on, in one direction or both, without closing. */
  | { readonly kind: 'silence'; readonly direction: 'both' | 'to server' | 'to client' }
  /** Delays all bytes in both directions, in order. */
  | { readonly kind: 'latency'; readonly milliseconds: number }
  /** Passes all bytes on in small pieces, with pauses. */
  | { readonly kind: 'trickle'; readonly bytes: number; readonly pauseMs: number }
  /** At a connect: accepts the client and never answers. */
  | { readonly kind: 'accept and be silent' }
  /** At a connect: resets the client at once, like a missing server. */
  | { readonly kind: 'refuse' }

/** Occasions on which a fault is chosen. */
export type Occasion =
  | { readonly kind: 'connect'; readonly connection: number }
  | { readonly kind: 'request'; readonly connection: number; readonly bytes: Buffer }

/** Undefined: no new fault; a lasting fault of the connection stays. */
export type FaultRule = (occasion: Occasion) => Fault | undefined
