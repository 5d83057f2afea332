/**
 * Gives back the object that it is called with, so that a subclass can put a private field on an object that is not of its
 * class: out of sight for keys, spreads and clones, and far quicker to set than an entry of a WeakMap.
 */
// oxlint-disable-next-line typescript/no-extraneous-class -- what it constructs is the object that it is given
export class Itself {
  constructor(object: object) {
    return object
  }
}
