/** What a proxy does to one connection. Decided when a client connects or sends. */
export type Fault =
  /** Passes on the first bytes of what the client sends, then resets both sides. */
  | { readonly kind: 'reset'; readonly afterBytes: number }
  /** Passes the request on, swallows the beginning of the answer when it comes, and resets the client. */
  | { readonly kind: 'lose answer' }
  /** Passes the request on, and of the answer only the first bytes; then closes as if all were well. */
  | { readonly kind: 'truncate answer'; readonly bytes: number }
  /** Swallows everything from now on, in one direction or both; nobody is told. */
  | { readonly kind: 'silence'; readonly direction: 'both' | 'to server' | 'to client' }
  /** Holds everything up for so long, in both directions, in order. */
  | { readonly kind: 'latency'; readonly milliseconds: number }
  /** Passes everything on in small pieces with pauses between them. */
  | { readonly kind: 'trickle'; readonly bytes: number; readonly pauseMs: number }
  /** At a connect: the client is accepted and never hears anything. */
  | { readonly kind: 'accept and be silent' }
  /** At a connect: the client is reset at once, as by a server that is not there. */
  | { readonly kind: 'refuse' }

/** The moments at which a fault is chosen. */
export type Occasion =
  | { readonly kind: 'connect'; readonly connection: number }
  | { readonly kind: 'request'; readonly connection: number; readonly bytes: Buffer }

/** Undefined: nothing new goes wrong; a fault that stays with the connection stays. */
export type FaultRule = (occasion: Occasion) => Fault | undefined
