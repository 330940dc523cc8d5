# Golden tests of `halley cases`.

## three papers, each figure with its command; numbers only where the paper states one
$ halley cases --list | cut -c1-40; halley cases --list --csv | head -2
> Paper          Item                     
> COMET          figure 1                 
> COMET          figure 2                 
> COMET          figure 3                 
> COMET          figure 4                 
> COMET          figure 5                 
> COMET          figures 6-7              
> COMET          figures 8-9              
> COMET          figures 10-12            
> COMET          figures 13-14            
> COMET          figure 15                
> COMET          tables I-III             
> ASTRA-sim 2.0  GPT-3 on W-1D            
> ASTRA-sim 2.0  GPT-3 on W-2D            
> ASTRA-sim 2.0  GPT-3 on Conv-3D         
> ASTRA-sim 2.0  GPT-3 on Conv-4D         
> ASTRA-sim 2.0  Transformer-1T on W-1D   
> ASTRA-sim 2.0  Transformer-1T on W-2D   
> ASTRA-sim 2.0  Transformer-1T on Conv-3D
> ASTRA-sim 2.0  Transformer-1T on Conv-4D
> ASTRA-sim 2.0  wafer-scale              
> ASTRA-sim 2.0  memory                   
> ASTRA-sim 2.0  validation               
> Chakra         end to end               
> paper,item,what,published,obtained,unit,ratio,case_verdict,picture,command
> COMET,figure 1,parameters of the design space and their ranges,,,,,not compared,table,halley explore --parameters
$ halley cases 'comet, figures 8'; halley cases conv-4d --json | grep -o '"obtained": [0-9]*'; halley cases --json | grep -c '"case_verdict": "not compared"'; halley cases nothing
> Paper  Item         What                                                                      Published  Obtained  Unit           Ratio  Verdict     Picture             Command
> COMET  figures 8-9  gain of expanded memory, best plan against the plan that fits without it        1.4     1.383  times faster  0.9876  reproduced  figures/heat-1.svg  halley explore studies/transformer-1t.yaml --plots figures
> "obtained": 18
> "obtained": 208
> 22
! halley: no case is named "nothing"; halley cases --list names all
! see 'halley cases --help'
? 2
