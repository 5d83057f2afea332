/** Thrown inside a call that reads an index: the layout of the store has changed since the call was planned. It is planned again. */
export class LayoutChanged extends Error {}
